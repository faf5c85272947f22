//! Reads the text of a shell line and says what it would run, read, write and reach.
//!
//! Pure: no file system, no process, no clock. It judges nothing; what it does
//! not know is unreadable (the line) or opaque (one command).

use interlock_core::facts::ShellFacts;

/// The shell that would run a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// GNU bash; also what `interlock exec` runs.
    #[default]
    Bash,
    /// A POSIX shell (`sh`, `dash`).
    Posix,
    /// zsh.
    Zsh,
    /// Not known: must be readable as bash and as zsh.
    Unknown,
    /// A shell whose language is not read at all (PowerShell, fish, nu).
    Foreign,
}

/// What is known about the place a line would run in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// The shell that would run the line.
    pub dialect: Dialect,
    /// The working directory, absolute.
    pub directory: String,
    /// The root of the project, absolute.
    pub project_root: String,
    /// The home directory, absolute; `None` when not known.
    pub home: Option<String>,
    /// The directory for temporary files, absolute; `None` when not known.
    pub temporary: Option<String>,
    /// The name of the user; `None` when not known.
    pub user: Option<String>,
}

/// Reads `line` and says what it would run, read, write and reach.
#[must_use]
pub fn read(line: &str, setting: &Setting) -> ShellFacts {
    let _ = (line, setting);
    ShellFacts {
        unreadable: Some("the shell reader is not finished".to_owned()),
        ..ShellFacts::default()
    }
}

/// Splits an `allowed_commands` entry into shell words; `None` when not literal.
#[must_use]
pub fn split_entry(entry: &str) -> Option<Vec<String>> {
    let _ = entry;
    None
}

/// Returns whether setting `name` changes what programs do.
#[must_use]
pub fn changes_programs(name: &str) -> bool {
    let _ = name;
    true
}
