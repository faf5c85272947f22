//! Where people are asked whether a call may run.

use std::{fmt, sync::Arc};

/// A place where a person can be asked.
pub trait Channel: Send + Sync {
    /// Asks; what is said goes to `answers`, at most once.
    ///
    /// Returns at once. Asked again while another request is open, the new one waits for its turn.
    fn ask(&self, wanted: PersonRequest, answers: Answers) -> Box<dyn Open>;
}

/// A request that a channel has.
pub trait Open: Send {
    /// Takes it back; `why` is told to a person who looks at it.
    fn withdraw(self: Box<Self>, why: &str);
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonRequest {
    /// The id of the request, by which it can be answered from elsewhere.
    pub id: String,
    /// The path of the stage.
    pub path: String,
    /// The tool; empty: it is no call.
    pub tool: String,
    /// What it would do, or what is asked: plain text, several lines at most.
    pub text: String,
    /// Whether a yes takes a passkey, so that only a no can be said here.
    pub passkey: bool,
}

/// What a channel says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelAnswer {
    /// Yes.
    Yes {
        /// Name of whoever did it.
        by: String,
    },
    /// No.
    No {
        /// Name of whoever did it.
        by: String,
        /// What the model is told.
        note: Option<String>,
    },
    /// Not now.
    Later,
    /// Nobody is there any more.
    Broken,
}

/// Where a channel says what it has to say.
#[derive(Clone)]
pub struct Answers(Arc<dyn Fn(ChannelAnswer) + Send + Sync>);

impl Answers {
    /// Gives what is said to `to`.
    pub(crate) fn new(to: impl Fn(ChannelAnswer) + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }

    /// Says it; whoever asked may be gone.
    pub fn say(&self, said: ChannelAnswer) {
        (self.0)(said);
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
