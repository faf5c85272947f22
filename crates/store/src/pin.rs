//! What a run pins when it is made: its machine and the workflow it came from.

use std::path::Path;

use interlock_core::{machine::Machine, names::RunId};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    chain::{ChainHash, hex},
    durability::Durability,
    error::StoreError,
    marks::Marks,
    sqlite,
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

/// What a database says about its run before any event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) run: RunId,
    pub(crate) created_ms: u64,
    /// Where the project is on this machine: no part of what is hashed.
    pub(crate) project_root: String,
    /// The home of the person on this machine, the same; empty: none.
    pub(crate) person_home: String,
    pub(crate) name: Option<String>,
    pub(crate) workflow: String,
    /// The file, with marks in its name.
    pub(crate) source: SourceFile,
    /// The machine's JSON without its hash, which is the SHA-256 of just these bytes.
    machine: Vec<u8>,
}

/// The part of a pin that every call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinHead {
    /// What the pin hashes to.
    pub(crate) digest: ChainHash,
    pub(crate) durability: Durability,
    pub(crate) project_root: String,
    pub(crate) person_home: String,
}

impl PinHead {
    /// Reads it, from the database of `run` and no other.
    pub(crate) fn read(
        connection: &Connection,
        path: &Path,
        run: &RunId,
    ) -> Result<Self, StoreError> {
        let row: Option<(String, String, Vec<u8>, String, String)> = connection
            .query_row(
                "SELECT run, durability, digest, project_root, person_home FROM pin WHERE id = 0",
                [],
                |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                    ))
                },
            )
            .optional()
            .map_err(sqlite::failed(path))?;
        let (found, durability, digest, project_root, person_home) =
            row.ok_or_else(|| StoreError::damaged(path, "its pinned workflow is missing"))?;
        if found != run.as_str() {
            return Err(StoreError::damaged(path, format!("it is of run `{found}`")));
        }
        Durability::from_word(&durability)
            .zip(ChainHash::from_bytes(&digest))
            .map(|(durability, digest)| Self {
                digest,
                durability,
                project_root,
                person_home,
            })
            .ok_or_else(|| StoreError::damaged(path, "its settings were changed"))
    }
}

const NAME_CHARS_MAX: usize = 100;

impl Pin {
    pub(crate) fn new(
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
    pub(crate) fn digest(&self) -> ChainHash {
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

    pub(crate) fn insert(
        &self,
        connection: &Connection,
        durability: Durability,
        path: &Path,
    ) -> Result<(), StoreError> {
        connection
            .execute(
                "INSERT INTO pin (id, run, created_ms, project_root, name, workflow, durability, \
                 digest, source_name, machine, source, person_home) \
                 VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                rusqlite::params![
                    self.run.as_str(),
                    sqlite::to_integer(self.created_ms, path)?,
                    self.project_root,
                    self.name,
                    self.workflow,
                    durability.word(),
                    self.digest().as_bytes(),
                    self.source.name,
                    self.machine,
                    self.source.text,
                    self.person_home,
                ],
            )
            .map_err(sqlite::failed(path))?;
        Ok(())
    }

    /// Reads the pin and checks it against its own hash.
    pub(crate) fn read(connection: &Connection, path: &Path) -> Result<Self, StoreError> {
        let read = connection
            .query_row(
                "SELECT run, created_ms, project_root, name, workflow, source_name, machine, \
                 source, digest, person_home FROM pin WHERE id = 0",
                [],
                |row| Ok((Self::from_row(row)?, row.get::<_, Vec<u8>>(8)?)),
            )
            .optional()
            .map_err(sqlite::failed(path))?;
        let (pin, digest) =
            read.ok_or_else(|| StoreError::damaged(path, "its pinned workflow is missing"))?;
        if pin.digest().as_bytes().as_slice() == digest {
            Ok(pin)
        } else {
            Err(StoreError::damaged(path, "its pinned workflow was changed"))
        }
    }

    /// Reads the machine, with the hash of what is pinned.
    pub(crate) fn machine(&self, path: &Path) -> Result<Machine, StoreError> {
        parse_machine(&self.machine).map_err(|error| {
            StoreError::damaged(path, format!("its machine does not parse: {error}"))
        })
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            run: RunId::new(row.get::<_, String>(0)?),
            created_ms: u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
            project_root: row.get(2)?,
            person_home: row.get(9)?,
            name: row.get(3)?,
            workflow: row.get(4)?,
            source: SourceFile {
                name: row.get(5)?,
                text: row.get(7)?,
            },
            machine: row.get(6)?,
        })
    }
}

/// Returns what a machine is kept as, which can be read again as it is.
pub(crate) fn machine_bytes(machine: &Machine, path: &Path) -> Result<Vec<u8>, StoreError> {
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

// The hash is that of the bytes, not of what this version would write for them.
pub(crate) fn parse_machine(bytes: &[u8]) -> Result<Machine, serde_json::Error> {
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
