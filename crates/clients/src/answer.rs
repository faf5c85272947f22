//! A hook's answer, independent of any client; each client's module writes it in the client's format.

pub(crate) use interlock_view::review::cut;
use serde_json::Value;

/// The answer of a hook.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// Message to the client.
    pub(crate) say: Say,
    /// Additional message to the person.
    pub(crate) person: Option<String>,
    /// Whether an open run guards the session.
    pub(crate) held: bool,
}

/// The part of an answer that is for the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Say {
    /// No opinion: the client's own rules decide.
    Nothing,
    /// Denies the call.
    Deny(String),
    /// Asks the client to prompt its person.
    Ask(String),
    /// Allows the call without the client's own prompt.
    Allow(String),
    /// Runs `input` in place of what the agent wrote.
    Rewrite {
        /// Whether the client prompts its person first.
        asks: bool,
        /// Reason shown with the answer.
        reason: String,
        /// The complete arguments.
        input: Value,
    },
    /// Adds text to the conversation.
    Add(String),
    /// Stops the session.
    Stop(String),
    /// Keeps the agent working when it was about to end its turn.
    GoOn(String),
    /// The only tools to offer the model, by the client's own names.
    Menu(Vec<String>),
}

impl Answer {
    /// Answers with `text` for the conversation.
    pub(crate) fn add(text: impl Into<String>) -> Self {
        Say::Add(text.into()).into()
    }

    /// Answers with a denial.
    pub(crate) fn deny(reason: impl Into<String>) -> Self {
        Say::Deny(reason.into()).into()
    }

    /// Answers with a message to the person alone.
    pub(crate) fn tell_person(text: impl Into<String>) -> Self {
        Self::from(Say::Nothing).telling(text)
    }

    /// Adds a message to the person.
    pub(crate) fn telling(mut self, text: impl Into<String>) -> Self {
        self.person = Some(text.into());
        self
    }
}

impl From<Say> for Answer {
    fn from(say: Say) -> Self {
        Self {
            say,
            person: None,
            held: false,
        }
    }
}
