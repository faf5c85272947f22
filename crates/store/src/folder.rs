//! The folder of a run on this machine, beside its log.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interlock_core::names::CallId;

use crate::{chain::ChainHash, durability::Durability, error::StoreError, files, marks::Marks};

/// Directory below the state directory for the working folders of runs.
pub(crate) const WORK: &str = "work";
/// Directory in a run's working folder for the texts that calls returned.
const OUTPUT: &str = "output";
/// Maximum size of such a text in bytes.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The folder of a run on this machine.
///
/// It holds data that concerns only this machine and, if the log is a file, the log and its data. The working folder, which
/// the run's programs write to, is separate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
    work: PathBuf,
    pub(crate) durability: Durability,
    /// The marks recorded in place of absolute paths.
    pub(crate) marks: Marks,
}

impl RunFolder {
    /// Uses the folder at `path`; its files are as durable as the run's events.
    pub fn new(path: impl Into<PathBuf>, work: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            path: path.into(),
            work: work.into(),
            durability,
            marks: Marks::default(),
        }
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the working folder, for the run's programs and their outputs.
    #[must_use]
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Returns the working folder, and creates it if necessary.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn made_work(&self) -> Result<&Path, StoreError> {
        files::make_directory(&self.work)?;
        Ok(&self.work)
    }

    /// Sets the marks that this folder records in place of absolute paths.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// Stores the text that a call returned in `output/HASH.txt`, with the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The text cannot be written.
    pub fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let path = self.output_file(call);
        files::make_directory(path.parent().unwrap_or(&path))?;
        fs::write(&path, text).map_err(|error| StoreError::io("write", &path, error))
    }

    /// Returns the stored text of a call; `None`: there is none.
    ///
    /// # Errors
    /// The text cannot be read.
    pub fn output(&self, call: &CallId) -> Result<Option<String>, StoreError> {
        let path = self.output_file(call);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", &path, error)),
        }
    }

    /// Lists the stored texts of calls, by the SHA-256 of the call's id.
    pub(crate) fn outputs(&self) -> Result<Vec<(String, String)>, StoreError> {
        let folder = self.work.join(OUTPUT);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| StoreError::io("read", &folder, error))?,
        };
        let mut outputs = Vec::new();
        for entry in entries {
            let path = entry
                .map_err(|error| StoreError::io("read", &folder, error))?
                .path();
            let name = path.file_name().and_then(|name| name.to_str());
            let stem = name.and_then(|name| name.strip_suffix(".txt"));
            // Programs of the run write to this folder, too.
            let Some(name) = stem.filter(|stem| ChainHash::from_hex(stem).is_some()) else {
                continue;
            };
            let Some(bytes) = files::read_bytes(&path, OUTPUT_BYTES_MAX)? else {
                continue;
            };
            outputs.push((
                name.to_owned(),
                String::from_utf8_lossy(&bytes).into_owned(),
            ));
        }
        outputs.sort_unstable();
        Ok(outputs)
    }

    fn output_file(&self, call: &CallId) -> PathBuf {
        let name = ChainHash::of_parts(&[call.as_str().as_bytes()]);
        self.work.join(OUTPUT).join(format!("{name}.txt"))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::fs;

    use interlock_core::names::CallId;

    use super::{OUTPUT, RunFolder};
    use crate::durability::Durability;

    #[test]
    fn only_the_texts_of_calls_are_outputs() {
        let room = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(
            room.path().join("run"),
            room.path().join("work"),
            Durability::Process,
        );
        assert!(folder.outputs().unwrap().is_empty());
        folder.keep_output(&CallId::new("c1"), "text").unwrap();
        let beside = folder.work().join(OUTPUT);
        for name in ["notes.txt", "0123.txt", "a.log"] {
            fs::write(beside.join(name), "of a program").unwrap();
        }
        let outputs = folder.outputs().unwrap();
        assert_eq!(outputs.len(), 1, "{outputs:?}");
        assert_eq!(outputs.first().map(|(_, text)| text.as_str()), Some("text"));
        assert_eq!(
            folder.output(&CallId::new("c1")).unwrap().as_deref(),
            Some("text")
        );
    }
}
