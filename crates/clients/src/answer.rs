//! What a hook answers, in nobody's words; each client's module writes it in its own.

use serde_json::Value;

/// What a hook answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// To the client.
    pub(crate) say: Say,
    /// Beside that, to the person.
    pub(crate) person: Option<String>,
    /// Whether an open run holds the session.
    pub(crate) held: bool,
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Say {
    /// No opinion: the client's own rules decide.
    Nothing,
    /// The call is denied.
    Deny(String),
    /// The client is to ask its person.
    Ask(String),
    /// The call passes without a question of the client's own.
    Allow(String),
    /// The client is to run `input` in the place of what the agent wrote.
    Rewrite {
        /// Whether it asks its person first.
        asks: bool,
        /// The reason given.
        reason: String,
        /// All the arguments.
        input: Value,
    },
    /// Text for the conversation.
    Add(String),
    /// The session is not to go on.
    Stop(String),
    /// The agent is to go on where it was about to end its turn.
    GoOn(String),
    /// The only tools that the model is to be offered, by the client's own names.
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

    /// Tells the person alone.
    pub(crate) fn tell_person(text: impl Into<String>) -> Self {
        Self::from(Say::Nothing).telling(text)
    }

    /// Tells the person something beside the rest.
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

/// Cuts `text` to at most `max` characters, marking the cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept = text.chars().take(max.saturating_sub(1));
    kept.chain(['…']).collect()
}
