//! The pin of a run: its machine, and the workflow file that it was compiled from.

use std::path::Path;

use interlock_core::{machine::Machine, names::RunId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    chain::{ChainHash, hex},
    durability::Durability,
    error::StoreError,
    marks::Marks,
};

/// A workflow file with its text when a run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Name or path of the file.
    pub name: String,
    /// Text of the file.
    pub text: String,
}

/// A run to create.
#[derive(Debug, Clone, Copy)]
pub struct NewRun<'a> {
    /// Machine that it follows, sealed; pinned as compiled.
    pub machine: &'a Machine,
    /// Workflow file; pinned as written.
    pub source: &'a SourceFile,
    /// Root of the project that it belongs to.
    pub project_root: &'a Path,
    /// Name of the run.
    pub name: Option<&'a str>,
    /// Which failures its events survive.
    pub durability: Durability,
    /// Time of creation, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Data of a run that a store records before any event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The run.
    pub run: RunId,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Path of the project on this machine, which is not part of the hash.
    pub project_root: String,
    /// Path of the person's home on this machine, not part of the hash either; empty: none.
    pub person_home: String,
    /// Name of the run.
    pub name: Option<String>,
    /// Id of its workflow.
    pub workflow: String,
    /// Workflow file, with marks in its name.
    pub source: SourceFile,
    /// JSON of the machine without its hash, which is the SHA-256 of exactly these bytes.
    pub machine: Vec<u8>,
}

const NAME_CHARS_MAX: usize = 100;

impl Pin {
    /// Creates the pin of `new`; errors name the store as `place`.
    ///
    /// # Errors
    /// The machine could not be read back unchanged.
    pub fn new(
        run: &RunId,
        new: &NewRun<'_>,
        (project_root, person_home, marks): (&str, &str, &Marks),
        path: &Path,
    ) -> Result<Self, StoreError> {
        let machine = machine_bytes(new.machine, path)?;
        Ok(Self {
            run: run.clone(),
            created_ms: new.at_ms,
            project_root: project_root.to_owned(),
            person_home: person_home.to_owned(),
            name: new.name.map(str::to_owned),
            workflow: new.machine.id.to_string(),
            source: SourceFile {
                name: marks.encode_text(&new.source.name),
                text: new.source.text.clone(),
            },
            machine,
        })
    }

    /// Returns the hash of the pin, to which the first event is chained.
    #[must_use]
    pub fn digest(&self) -> ChainHash {
        ChainHash::of_parts(&[
            b"interlock run",
            self.run.as_str().as_bytes(),
            &self.created_ms.to_be_bytes(),
            &[u8::from(self.name.is_some())],
            self.name.as_deref().unwrap_or_default().as_bytes(),
            self.workflow.as_bytes(),
            self.source.name.as_bytes(),
            self.source.text.as_bytes(),
            &self.machine,
        ])
    }

    /// Parses the machine, with the hash of the pinned bytes.
    ///
    /// # Errors
    /// It does not parse.
    pub fn machine(&self, path: &Path) -> Result<Machine, StoreError> {
        parse_machine(&self.machine).map_err(|error| {
            StoreError::damaged(path, format!("its machine does not parse: {error}"))
        })
    }
}

/// Returns the stored form of a machine, which can be read back unchanged.
///
/// # Errors
/// The machine is not sealed, or could not be read back unchanged.
pub fn machine_bytes(machine: &Machine, path: &Path) -> Result<Vec<u8>, StoreError> {
    let unwritable = |what: String| StoreError::Unwritable {
        path: path.to_owned(),
        what,
    };
    let bytes = bare_bytes(machine).map_err(|error| unwritable(error.to_string()))?;
    match parse_machine(&bytes) {
        Ok(again) if again == *machine => Ok(bytes),
        Ok(_) => Err(unwritable(
            "a machine that was not sealed as it is".to_owned(),
        )),
        Err(error) => Err(unwritable(format!("this machine ({error})"))),
    }
}

/// Returns the bytes that a machine's hash covers.
fn bare_bytes(machine: &Machine) -> Result<Vec<u8>, serde_json::Error> {
    let bare = Machine {
        hash: String::new(),
        ..machine.clone()
    };
    serde_json::to_vec(&bare)
}

/// Parses a stored machine. Its hash is that of the bytes, not of what this version would write for them.
///
/// # Errors
/// The bytes are not a machine.
pub fn parse_machine(bytes: &[u8]) -> Result<Machine, serde_json::Error> {
    let bare: Machine = serde_json::from_slice(bytes)?;
    Ok(Machine {
        hash: hex(&Sha256::digest(bytes)),
        ..bare
    })
}

/// Checks the name of a run.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let why = if name.trim() != name || name.is_empty() {
        "it is empty, or begins or ends with a space"
    } else if name.chars().any(char::is_control) {
        "it holds a control character"
    } else if name.chars().count() > NAME_CHARS_MAX {
        "it is longer than 100 characters"
    } else {
        return Ok(());
    };
    Err(StoreError::BadName {
        text: name.to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::{NAME_CHARS_MAX, check_name};

    #[test]
    fn a_name_is_one_line_without_spaces_around() {
        let longest = "é".repeat(NAME_CHARS_MAX);
        for name in ["a", "a b", "a/b", longest.as_str()] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let too_long = format!("{longest}x");
        for name in ["", " a", "a ", "a\u{7}b", "a\nb", too_long.as_str()] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
