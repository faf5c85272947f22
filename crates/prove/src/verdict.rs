//! What is said about a property.

use std::fmt;

use interlock_core::{event::Event, machine::Object, run::Run};

use crate::replay::TraceStep;

/// Whether a property holds of every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does, as far as what was taken more widely than it is allows to say; why.
    HoldsWidely(String),
    /// It does not.
    Fails,
    /// What it is about never happens.
    Vacuous(String),
    /// It was not found out; why.
    Unknown(String),
}

impl Verdict {
    /// Names it in one word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Holds | Self::HoldsWidely(_) => "holds",
            Self::Fails => "fails",
            Self::Vacuous(_) => "vacuous",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Says why, where there is something to say.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Holds | Self::Fails => None,
            Self::HoldsWidely(why) | Self::Vacuous(why) | Self::Unknown(why) => Some(why),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldsWidely(why) => write!(f, "holds (over-approximated: {why})"),
            Self::Vacuous(why) | Self::Unknown(why) => write!(f, "{} ({why})", self.word()),
            Self::Holds | Self::Fails => f.write_str(self.word()),
        }
    }
}

/// A property, what was found of it, and a run that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its name.
    pub name: String,
    /// The file and the line it is written in; `None`: it holds by default.
    pub at: Option<(String, usize)>,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence on what happens, where it fails.
    pub message: Option<String>,
    /// What the run of the trace is started with.
    pub input: Object,
    /// A shortest run that breaks it, or that shows that it is possible; each was replayed.
    pub trace: Vec<TraceStep>,
    /// The run of the trace with its events, for a picture.
    pub played: Option<Box<PlayedRun>>,
}

/// A run that was played, and all its events.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedRun {
    /// The run as it is at the end.
    pub run: Run,
    /// What happened, from its beginning.
    pub events: Vec<Event>,
}
