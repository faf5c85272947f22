//! What follows when a carrier has ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Delay before a run is tried again that could not be carried here.
pub(crate) const LATER_AFTER: Duration = Duration::from_secs(30);

/// What follows when a carrier has ended; it stands in the outbox and in Restate's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Nothing: the run is over.
    Over,
    /// Nothing until somebody answers: then the outbox wakes the run.
    Person,
    /// The run is carried again when it is due.
    Time,
    /// The run could not be carried here, and is tried again later.
    Later,
    /// The carrier was lost: the outbox wakes the run.
    Lost,
}

impl Next {
    /// Returns it as JSON, as it stands in the outbox.
    #[must_use]
    pub const fn json(self) -> &'static str {
        match self {
            Self::Over => "\"over\"",
            Self::Person => "\"person\"",
            Self::Time => "\"time\"",
            Self::Later => "\"later\"",
            Self::Lost => "\"lost\"",
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::Next;

    #[test]
    fn what_the_outbox_has_is_what_the_handler_reads() {
        for next in [
            Next::Over,
            Next::Person,
            Next::Time,
            Next::Later,
            Next::Lost,
        ] {
            assert_eq!(serde_json::to_string(&next).unwrap(), next.json());
            assert_eq!(serde_json::from_str::<Next>(next.json()).unwrap(), next);
        }
    }
}
