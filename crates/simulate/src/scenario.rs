//! Where a simulation plays.

use interlock_sandbox::Level;
use interlock_shell::Dialect;

/// Where a simulation plays, as far as paths go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The project root, absolute and normalised.
    pub project_root: String,
    /// The home directory.
    pub home: String,
    /// The directory for temporary files.
    pub temporary: String,
    /// The client whose tools are meant where a line names none.
    pub client: String,
    /// Entries of the person's `[shell] allow`.
    pub allowed_by_person: Vec<String>,
    /// Programs of the person's `[shell] transparent`.
    pub transparent: Vec<String>,
    /// Names of the variables that shell lines are given.
    pub variables: Vec<String>,
    /// The level at which `interlock exec` would hold lines.
    ///
    /// From `files` on, code that a line gives to an interpreter may run where nothing may be written.
    pub level: Level,
    /// The shell that lines are read for where a client has no shell of its own.
    pub shell: Dialect,
    /// What a conversation begins with; read where the workflow has one.
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
            // What `interlock exec` runs.
            shell: Dialect::Bash,
            input: String::new(),
        }
    }
}
