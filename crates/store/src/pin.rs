//! What a run pins when it is made: its machine and the workflow it came from.

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

/// A workflow file, as it was when a run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The name or path it was read under.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A run to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewRun<'a> {
    /// What it follows, sealed; pinned as compiled.
    pub machine: &'a Machine,
    /// The workflow file; pinned as written.
    pub source: &'a SourceFile,
    /// The project it belongs to.
    pub project_root: &'a Path,
    /// What people may call it.
    pub name: Option<&'a str>,
    /// What its events survive.
    pub durability: Durability,
    /// When it is made, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What a store says about a run before any event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The run.
    pub run: RunId,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Where the project is on this machine: no part of what is hashed.
    pub project_root: String,
    /// The home of the person on this machine, the same; empty: none.
    pub person_home: String,
    /// What people call the run.
    pub name: Option<String>,
    /// The id of its workflow.
    pub workflow: String,
    /// The file, with marks in its name.
    pub source: SourceFile,
    /// The machine's JSON without its hash, which is the SHA-256 of just these bytes.
    pub machine: Vec<u8>,
}

const NAME_CHARS_MAX: usize = 100;

impl Pin {
    /// Takes what is to be pinned of `new`; `place` names the store in errors.
    ///
    /// # Errors
    /// The machine cannot be read again as it is.
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

    /// Returns the hash that the first event is chained to, so that the chain covers the pin.
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

    /// Reads the machine, with the hash of what is pinned.
    ///
    /// # Errors
    /// It does not parse.
    pub fn machine(&self, path: &Path) -> Result<Machine, StoreError> {
        parse_machine(&self.machine).map_err(|error| {
            StoreError::damaged(path, format!("its machine does not parse: {error}"))
        })
    }
}

/// Returns what a machine is kept as, which can be read again as it is.
///
/// # Errors
/// It is not sealed, or would not be read again as it is.
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

/// Returns what a machine's hash is made of.
fn bare_bytes(machine: &Machine) -> Result<Vec<u8>, serde_json::Error> {
    let bare = Machine {
        hash: String::new(),
        ..machine.clone()
    };
    serde_json::to_vec(&bare)
}

/// Reads a machine that was kept; its hash is that of the bytes, not of what this version would write for them.
///
/// # Errors
/// The bytes are no machine.
pub fn parse_machine(bytes: &[u8]) -> Result<Machine, serde_json::Error> {
    let bare: Machine = serde_json::from_slice(bytes)?;
    Ok(Machine {
        hash: hex(&Sha256::digest(bytes)),
        ..bare
    })
}

/// Checks what people may call a run.
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
