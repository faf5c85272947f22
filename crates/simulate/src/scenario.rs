//! The environment of a simulation.

use interlock_sandbox::Level;
use interlock_shell::Dialect;

/// The environment of a simulation, mainly paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The project root, absolute and normalised.
    pub project_root: String,
    /// The home directory.
    pub home: String,
    /// The directory for temporary files.
    pub temporary: String,
    /// Client whose tools are used if a line names none.
    pub client: String,
    /// Entries of the person's `[shell] allow`.
    pub allowed_by_person: Vec<String>,
    /// Programs of the person's `[shell] transparent`.
    pub transparent: Vec<String>,
    /// Names of the variables that shell lines receive.
    pub variables: Vec<String>,
    /// Level at which `interlock exec` would confine lines.
    ///
    /// From `files` on, code that a line passes to an interpreter may run in a no-write state.
    pub level: Level,
    /// Shell for clients without a shell of their own.
    pub shell: Dialect,
    /// Input of a conversation, if the workflow has one.
    pub input: String,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            project_root: "/project".to_owned(),
            home: "/home/you".to_owned(),
            temporary: "/tmp".to_owned(),
            client: "claude-code".to_owned(),
            allowed_by_person: Vec::new(),
            transparent: Vec::new(),
            variables: Vec::new(),
            level: Level::Environment,
            // The shell of `interlock exec`.
            shell: Dialect::Bash,
            input: String::new(),
        }
    }
}
