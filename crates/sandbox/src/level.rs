//! How much of a plan the kernel of this machine enforces.

use serde::{Deserialize, Serialize};

/// How much the kernel enforces; higher is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Only the environment, and the comparison afterwards.
    Environment,
    /// An old kernel, or no filter of system calls.
    Partial,
    /// Every file rule; changes of protected files inside the project are found and undone.
    Files,
    /// Everything that the plan promises.
    Full,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Self; 4] = [Self::Environment, Self::Partial, Self::Files, Self::Full];

    /// Returns the word used in settings, logs and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Partial => "partial",
            Self::Files => "files",
            Self::Full => "full",
        }
    }

    /// Returns the level of that name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Features of this machine's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Version of Landlock's interface; 0 if there is none.
    pub landlock: u8,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether a process may have its own mounts.
    pub namespaces: bool,
}

/// Newest version of Landlock whose rights are used.
pub const LANDLOCK_NEWEST: u8 = 7;

impl Reach {
    /// A machine without any of these features.
    pub const NOTHING: Self = Self {
        landlock: 0,
        seccomp: false,
        namespaces: false,
    };

    /// All features that are used where available.
    pub const ALL: Self = Self {
        landlock: LANDLOCK_NEWEST,
        seccomp: true,
        namespaces: true,
    };

    /// Returns the features with which no more than `level` is reached.
    #[must_use]
    pub const fn limited_to(level: Level) -> Self {
        match level {
            Level::Full => Self::ALL,
            Level::Files => Self {
                namespaces: false,
                ..Self::ALL
            },
            Level::Partial => Self {
                landlock: 2,
                seccomp: false,
                namespaces: false,
            },
            Level::Environment => Self::NOTHING,
        }
    }

    /// Returns the features that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            landlock: self.landlock.min(other.landlock),
            seccomp: self.seccomp && other.seccomp,
            namespaces: self.namespaces && other.namespaces,
        }
    }

    /// Returns the level reached for a plan.
    ///
    /// `own_mounts` says whether the plan protects something inside a writable place.
    #[must_use]
    pub const fn level(self, own_mounts: bool) -> Level {
        match self {
            Self { landlock: 0, .. } => Level::Environment,
            Self {
                landlock: 1 | 2, ..
            }
            | Self { seccomp: false, .. } => Level::Partial,
            Self {
                landlock: 3..=5, ..
            } => Level::Files,
            Self {
                namespaces: false, ..
            } if own_mounts => Level::Files,
            _ => Level::Full,
        }
    }
}

/// Something that the table of kernel rules promises and this machine does not enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unconfined {
    /// Writing files anywhere.
    Files,
    /// Truncating a file by its path.
    Truncate,
    /// Renaming and linking between directories is refused altogether.
    Moves,
    /// Modes, owners, times and attributes of files.
    Modes,
    /// Protected files inside a writable place: changes are found and undone, not prevented.
    ProtectedInside,
    /// Daemons that are accessed through Unix sockets.
    Sockets,
    /// TCP.
    Tcp,
    /// UDP and every other network.
    Network,
    /// Signals to processes outside.
    Signals,
    /// Programs that a line leaves behind.
    LeftBehind,
    /// Memory and environment of other processes.
    Processes,
    /// The terminal's input queue.
    Terminal,
    /// Device controls on files opened by the line.
    Devices,
    /// Reading Interlock's state directory.
    StateDirectory,
}

impl Unconfined {
    /// Returns the words shown to people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Files => "writing files",
            Self::Truncate => "truncating files by path",
            Self::Moves => "moves between directories (refused altogether)",
            Self::Modes => "modes, owners and times of files",
            Self::ProtectedInside => {
                "protected things inside the project (found and undone, not prevented)"
            }
            Self::Sockets => "daemons reached over Unix sockets",
            Self::Tcp => "TCP",
            Self::Network => "networks other than TCP",
            Self::Signals => "signals to other processes",
            Self::LeftBehind => "programs that outlive a line",
            Self::Processes => "memory and environment of other processes",
            Self::Terminal => "the terminal's input",
            Self::Devices => "device controls",
            Self::StateDirectory => "reading the state directory",
        }
    }
}

impl std::fmt::Display for Unconfined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The levels of this machine, as `status` and `doctor` show them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Features of the kernel.
    pub reach: Reach,
    /// The level of a line in a no-write state.
    pub no_write: Level,
    /// The level of a line in a writing state.
    pub writing: Level,
    /// What is not confined for a line in a no-write state.
    pub no_write_unconfined: Vec<Unconfined>,
    /// What is not confined for a line in a writing state.
    pub writing_unconfined: Vec<Unconfined>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_reaches_its_own_level_and_no_higher_one() {
        for level in [
            Level::Environment,
            Level::Partial,
            Level::Files,
            Level::Full,
        ] {
            assert_eq!(Reach::limited_to(level).level(true), level);
        }
        // Without anything protected inside, mounts of its own are not needed.
        assert_eq!(Reach::limited_to(Level::Files).level(false), Level::Full);
        let weaker = Reach::ALL.and(Reach::limited_to(Level::Partial));
        assert_eq!(weaker.level(false), Level::Partial);
        for (landlock, level) in [
            (0, Level::Environment),
            (1, Level::Partial),
            (2, Level::Partial),
            (3, Level::Files),
            (5, Level::Files),
            (6, Level::Full),
        ] {
            let reach = Reach {
                landlock,
                ..Reach::ALL
            };
            assert_eq!(reach.level(true), level, "{landlock}");
        }
    }
}
