//! The folder of a run on this machine: what lies beside its log.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interlock_core::names::CallId;

use crate::{chain::ChainHash, durability::Durability, error::StoreError, files, marks::Marks};

/// Directory, below the state directory, of the folders that programs of runs work in.
pub(crate) const WORK: &str = "work";
/// Directory, below the folder that a run's programs work in, of the texts that calls returned.
const OUTPUT: &str = "output";
/// The most bytes of one such text.
const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The folder of a run on this machine.
///
/// Holds what concerns this machine alone; where the log is a file, also what belongs to the log.
/// What its programs write while it goes on lies apart, in the folder that they work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
    work: PathBuf,
    pub(crate) durability: Durability,
    /// What is recorded in place of absolute paths.
    pub(crate) marks: Marks,
}

impl RunFolder {
    /// Takes the folder at `path`; what it keeps survives what the run's events survive.
    pub fn new(path: impl Into<PathBuf>, work: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            path: path.into(),
            work: work.into(),
            durability,
            marks: Marks::default(),
        }
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of what its programs and their outputs need while it goes on.
    #[must_use]
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Returns the same, made when there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn made_work(&self) -> Result<&Path, StoreError> {
        files::make_directory(&self.work)?;
        Ok(&self.work)
    }

    /// Says what is recorded in place of absolute paths in what this folder keeps.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// Keeps the text that a call returned, in `output/HASH.txt` with the SHA-256 of the call's id.
    pub(crate) fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let path = self.output_file(call);
        files::make_directory(path.parent().unwrap_or(&path))?;
        fs::write(&path, text).map_err(|error| StoreError::io("write", &path, error))
    }

    /// Returns the text that was kept of a call; `None`: nothing was.
    pub(crate) fn output(&self, call: &CallId) -> Result<Option<String>, StoreError> {
        let path = self.output_file(call);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read", &path, error)),
        }
    }

    /// Lists the texts that were kept of calls, by the SHA-256 of the call's id.
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
