//! The file of a run that stores a program's output.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::OutputError;

/// A file that is created with its first byte.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    /// Number of bytes that may still be written.
    room: u64,
    trouble: Option<io::Error>,
}

impl OutputFile {
    pub(super) const fn new(path: PathBuf, most: u64) -> Self {
        Self {
            path,
            file: None,
            room: most,
            trouble: None,
        }
    }

    /// Writes as many bytes as the limit permits.
    ///
    /// After a failure nothing more is written: a file with a gap would look complete.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let most = usize::try_from(self.room).unwrap_or(usize::MAX);
        let bytes = bytes.get(..most).unwrap_or(bytes);
        if bytes.is_empty() || self.trouble.is_some() {
            return;
        }
        match self.write(bytes) {
            Ok(()) => self.room -= u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Err(error) => self.trouble = Some(error),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(create(&self.path)?);
        }
        self.file
            .iter_mut()
            .try_for_each(|file| file.write_all(bytes))
    }

    pub(super) fn trouble(&self) -> Option<OutputError> {
        self.trouble.as_ref().map(|error| OutputError::NotKept {
            path: self.path.display().to_string(),
            why: error.to_string(),
        })
    }

    /// Returns the file; `None` if nothing was printed.
    pub(super) fn written(&self) -> Option<&Path> {
        self.file.as_ref().map(|_| self.path.as_path())
    }

    /// Cuts the file to `most` bytes.
    pub(super) fn cut(&mut self, most: u64) {
        if let Some(file) = &self.file
            && file.metadata().is_ok_and(|found| found.len() > most)
        {
            // A file that is longer than promised does no harm.
            let _ = file.set_len(most);
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory)?;
            }
            options.open(path)
        }
        opened => opened,
    }
}
