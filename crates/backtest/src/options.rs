//! Options of placing sessions.

/// Options of placing a session.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether a shell line that succeeded without a recorded exit code counts as exit code 0.
    pub assume_exit: bool,
    /// Maximum number of states that are followed at once.
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
