//! How sessions are placed.

/// How a session is placed.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether a shell line that was seen to succeed without an exit code counts as one that ended with 0.
    pub assume_exit: bool,
    /// States that are followed beside each other, at most.
    pub states_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            assume_exit: false,
            states_max: 4_096,
        }
    }
}
