//! Orders to carry out, and their outcomes.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use interlock_core::{
    event::{Event, Passing},
    machine::{EffectKind, Machine},
    names::FramePath,
    run::Run,
};

use crate::stage::StageOrder;

/// An effect to carry out.
#[derive(Debug, Clone)]
pub struct Order {
    /// Stable id, made of run, frame path and the sequence number of the state entry.
    pub id: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Kind of the effect.
    pub kind: EffectKind,
    /// Path of the state as shown to people.
    pub path: String,
    /// Title for people: `process-file 2 of 3` for an item, otherwise the path.
    pub title: String,
    /// Input with every hole filled.
    pub input: Value,
    /// Where the output is stored.
    pub capture: Option<Capture>,
    /// Label before its output lines: the branches it runs in.
    pub label: Option<String>,
    /// Whether nothing else runs at the same time, so that it may use the terminal.
    pub alone: bool,
    /// Whether the run reads the whole output although nothing captures it.
    pub read_whole: bool,
    /// Whether output that nothing captures is shown; a list of items is not.
    pub shown: bool,
    /// Input of a model stage; `None` for other effects.
    pub stage: Option<Box<StageOrder>>,
    /// Input of a tool state or custom node; `None` for other effects.
    pub node: Option<Box<NodeOrder>>,
}

/// Input of a tool state or custom node.
#[derive(Debug, Clone)]
pub struct NodeOrder {
    /// Machine of the run.
    pub machine: Arc<Machine>,
    /// The run when the node was started.
    pub run: Arc<Run>,
    /// The frame.
    pub path: FramePath,
    /// All events of the run, if the node reads records.
    pub events: Vec<Event>,
}

/// Where an output is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    /// In the run, as text.
    Text,
    /// In this file, byte for byte.
    File(PathBuf),
}

/// Outcome of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded with this output, untrimmed; a preview if nothing reads all of it.
    Done {
        /// Standard output.
        stdout: String,
        /// Beginning and end of standard error.
        stderr: String,
    },
    /// It failed.
    Failed(Failed),
    /// A person interrupted it at the terminal that it owned.
    Interrupted,
}

/// How an effect failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failed {
    /// Code that selects the transition.
    pub code: i64,
    /// Stable name of the reason, if the program's own code has no meaning.
    pub reason: Option<&'static str>,
    /// One sentence.
    pub message: String,
    /// Beginning and end of standard output.
    pub stdout: String,
    /// Beginning and end of standard error.
    pub stderr: String,
    /// Whether the failure is transient; `None` if it is not, or if that is unknown.
    pub passing: Option<Passing>,
}

impl Failed {
    /// Creates the failure of an effect that was never started.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            ..Self::default()
        }
    }
}

impl From<Failed> for Outcome {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}
