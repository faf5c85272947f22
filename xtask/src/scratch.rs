//! The directory for the temporary files of the tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result};

/// A directory for temporary files, which is removed at the end.
///
/// The tests make and remove many thousand small directories. Where they are made below one directory, ext4 places all of them in
/// one group of inodes, and searches there for one that was not in use in the last five seconds: a seventh of the time of the tests.
/// A directory that is marked as the top of a hierarchy has its directories spread over all groups.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        // A short name, because the system limits the paths of sockets.
        let name = format!("il-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| format!("`{}` cannot be created", path.display()))?;
        // Other file systems do not have this mark, and need none.
        let mark = Command::new("chattr")
            .arg("+T")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        drop(mark);
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
