//! Channels on which people are asked whether a call may run.

use std::{fmt, sync::Arc};

/// A channel on which a person can be asked.
pub trait Channel: Send + Sync {
    /// Asks; the answer goes to `answers`, at most once.
    ///
    /// Returns at once. While another request is open, a new one waits for its turn.
    fn ask(&self, wanted: PersonRequest, answers: Answers) -> Box<dyn Open>;
}

/// An open request of a channel.
pub trait Open: Send {
    /// Withdraws it; `why` is shown to a person who looks at it.
    fn withdraw(self: Box<Self>, why: &str);
}

/// A request to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonRequest {
    /// Id of the request, to answer it from elsewhere.
    pub id: String,
    /// Path of the stage.
    pub path: String,
    /// Name of the tool; empty: the request is not about a call.
    pub tool: String,
    /// What the call would do, or the question: plain text, a few lines at most.
    pub text: String,
    /// Whether an approval needs a passkey, so that only a rejection can be given here.
    pub passkey: bool,
}

/// Answer of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelAnswer {
    /// Approved.
    Yes {
        /// Name of whoever did it.
        by: String,
    },
    /// Rejected.
    No {
        /// Name of whoever did it.
        by: String,
        /// What the model is told.
        note: Option<String>,
    },
    /// Deferred.
    Later,
    /// The channel is closed.
    Broken,
}

/// Receiver of a channel's answers.
#[derive(Clone)]
pub struct Answers(Arc<dyn Fn(ChannelAnswer) + Send + Sync>);

impl Answers {
    /// Creates a receiver that passes answers to `to`.
    pub(crate) fn new(to: impl Fn(ChannelAnswer) + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }

    /// Sends an answer; the receiver may be gone.
    pub fn say(&self, said: ChannelAnswer) {
        (self.0)(said);
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
