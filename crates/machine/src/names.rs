//! Names and ids; each has its own type, so that one cannot be used in place of another.

use std::{borrow::Borrow, fmt};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Creates the name from text, without checking it.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    )*};
}

names! {
    /// Id of a machine, as its workflow file names it.
    MachineId
    /// Name of a state within its machine.
    StateName
    /// Name of an event within a state.
    EventName
    /// Name of a guard within its machine.
    GuardName
    /// Name of an interrupt within its machine.
    InterruptName
    /// Name of a program, as the runner knows it.
    ProgramName
    /// Id of a run.
    RunId
    /// Id of one proposed tool call, unique within its run.
    CallId
    /// Id a client gives to one of its sub-agents.
    AgentId
    /// SHA-256 of a tool call's name and arguments, in lower-case hex.
    Digest
    /// Id of a request to a person, unique within its run, such as `a12`.
    ApprovalId
}

impl Digest {
    /// Returns the SHA-256 of `bytes`, in lower-case hex.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        let digest = Sha256::digest(bytes.as_ref());
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl ApprovalId {
    /// Returns the id of the request that event number `seq` of the run opened.
    #[must_use]
    pub fn of(seq: u64) -> Self {
        Self(format!("a{seq}"))
    }
}

/// Position of a frame in the tree of a run: branch and machine names, outermost first.
///
/// The root frame has the empty path. Names are separated by `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FramePath(Vec<String>);

impl FramePath {
    /// Returns the path of the root frame.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the path of the child `name` of this frame.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// Returns the path of the frame above this one, and the name of this frame in it.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &str)> {
        let (last, init) = self.0.split_last()?;
        Some((Self(init.to_vec()), last))
    }

    /// Returns the names, outermost first.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns whether this is the root frame.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `other` is this frame or lies below it.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for FramePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}
