//! What is known about where a line would run.

use interlock_core::facts::ShellAsk;

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
    /// Unknown: the line must be readable as bash and as zsh.
    Unknown,
    /// A shell whose language is not read at all (PowerShell, fish, nu).
    Foreign,
}

/// What is known about the environment of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellContext {
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
    /// Programs that the person declares as wrappers: they only run the command in their arguments.
    pub transparent: Vec<String>,
    /// Names of the variables that the shell receives; the line's programs receive them, too.
    pub variables: Vec<String>,
}

/// Returns why a command is opaque if nothing but this question makes it so.
#[must_use]
pub fn doubt(ask: &ShellAsk) -> String {
    match ask {
        ShellAsk::Repository { .. } => {
            "git in another repository, whose configuration can run programs".to_owned()
        }
        ShellAsk::Options { pattern, .. } => {
            format!("`{pattern}` may be an option; put `--` before the file names")
        }
    }
}
