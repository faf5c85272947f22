//! Names of durable runs. A name is unique within a project and workflow.
//!
//! A name is a file `names/HASH/NAME` that holds the run's id. A process that creates a run keeps the file locked until the
//! run exists, so that a name without a run is free again.

use std::{
    fs::{self, File, TryLockError},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use interlock_core::names::RunId;
use rustix::fs::OFlags;

use crate::{chain::ChainHash, error::StoreError, files, home::Home, id};

/// Maximum length of a name.
const CHARS_MAX: usize = 100;
/// Maximum number of names tried when a name is generated.
const TRIES_MAX: u64 = 10_000;

/// A name that is reserved for a run in the making.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) name: String,
    path: PathBuf,
    file: File,
}

impl Claim {
    /// Writes the id of the run that has the name.
    pub(crate) fn give_to(mut self, run: &RunId) -> Result<Self, StoreError> {
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.set_len(0))
            .and_then(|()| self.file.write_all(run.as_str().as_bytes()))
            .map_err(|error| StoreError::io("write", &self.path, error))?;
        Ok(self)
    }
}

/// Returns what is wrong with the name of a durable run; `None`: it is valid.
#[must_use]
pub fn name_fault(name: &str) -> Option<&'static str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.is_empty() {
        Some("it is empty")
    } else if name.starts_with('.') {
        Some("it begins with `.`")
    } else if !name.chars().all(plain) {
        Some("it may contain only letters, digits, `.`, `_` and `-`")
    } else if name.len() > CHARS_MAX {
        Some("it is longer than 100 characters")
    } else {
        None
    }
}

impl Home {
    /// Reserves `name` for a run in the making.
    ///
    /// # Errors
    /// The name is invalid, or a run already has it.
    pub(crate) fn claim_name(
        &self,
        project_root: &Path,
        workflow: &str,
        name: &str,
    ) -> Result<Claim, StoreError> {
        if let Some(why) = name_fault(name) {
            return Err(StoreError::BadName {
                text: name.to_owned(),
                why,
            });
        }
        let folder = self.names_of(project_root, workflow)?;
        self.try_claim(&folder, name)?
            .ok_or_else(|| StoreError::NameTaken {
                name: name.to_owned(),
                workflow: workflow.to_owned(),
            })
    }

    /// Generates a name from that of the workflow, such as `hello-3`, and reserves it.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub(crate) fn claim_any_name(
        &self,
        project_root: &Path,
        workflow: &str,
    ) -> Result<Claim, StoreError> {
        let folder = self.names_of(project_root, workflow)?;
        let stem = stem(workflow);
        let number = |name: &String| {
            let digits = name.strip_prefix(&stem)?.strip_prefix('-')?;
            digits.parse::<u64>().ok()
        };
        let last = files::names(&folder)?.iter().filter_map(number).max();
        let first = last.unwrap_or_default().saturating_add(1);
        for number in first..first.saturating_add(TRIES_MAX) {
            if let Some(claim) = self.try_claim(&folder, &format!("{stem}-{number}"))? {
                return Ok(claim);
            }
        }
        Err(StoreError::Busy { path: folder })
    }

    fn names_of(&self, project_root: &Path, workflow: &str) -> Result<PathBuf, StoreError> {
        let names = self.made_place("names")?;
        let project = project_root.as_os_str().as_encoded_bytes();
        let folder = names.join(ChainHash::of_parts(&[project, workflow.as_bytes()]).to_string());
        files::make_directory(&folder)?;
        Ok(folder)
    }

    /// Reserves the name, unless a run has it or is being created with it.
    fn try_claim(&self, folder: &Path, name: &str) -> Result<Option<Claim>, StoreError> {
        let path = folder.join(name);
        let failed = |error| StoreError::io("write", &path, error);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = String::new();
        (&mut file)
            .take(4096)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let run = RunId::new(text.trim());
        let is_taken = id::check(&run).is_ok() && self.has_directory(&run)?;
        Ok((!is_taken).then(|| Claim {
            name: name.to_owned(),
            path,
            file,
        }))
    }

    fn has_directory(&self, run: &RunId) -> Result<bool, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(false);
        };
        Ok(fs::symlink_metadata(Self::run_directory(&root, run)?).is_ok())
    }
}

/// Derives the beginning of a name from that of a workflow.
fn stem(workflow: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || "._-".contains(letter) {
            letter
        } else {
            '-'
        }
    };
    let letters: String = workflow.chars().map(plain).take(80).collect();
    let stem = letters.trim_matches(['-', '.']);
    if stem.is_empty() {
        "run".to_owned()
    } else {
        stem.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{name_fault, stem};

    #[test]
    fn names_are_plain_words() {
        for good in ["hello-3", "a", "1.2_x"] {
            assert_eq!(name_fault(good), None, "{good}");
        }
        let long = "a".repeat(101);
        for bad in ["", ".a", "a b", "a/b", "é", "..", long.as_str()] {
            assert!(name_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_made_of_any_workflow() {
        let made = ["hello", "two words", ".x", "日本", "a/../b"].map(stem);
        assert_eq!(made, ["hello", "two-words", "x", "run", "a-..-b"]);
        assert!(made.iter().all(|stem| name_fault(stem).is_none()));
    }
}
