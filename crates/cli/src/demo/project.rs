//! The demo's project: a folder with one bug and one test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_store::Home;
use tempfile::TempDir;

use crate::failure::Failure;

/// The program under test, with its bug.
pub(crate) const BUGGY: &str = "#!/bin/sh\n# Adds two numbers.\necho $(( $1 - $2 ))\n";
/// The wrong line.
pub(crate) const WRONG: &str = "echo $(( $1 - $2 ))";
/// The right line.
pub(crate) const RIGHT: &str = "echo $(( $1 + $2 ))";

const CHECK: &str = "#!/bin/sh\n# The test: 2 and 3 make 5.\n[ \"$(sh src/add.sh 2 3)\" = 5 ] && echo 'ok: 2 + 3 = 5' || { echo 'FAILED: 2 + 3'; exit 1; }\n";

/// A temporary folder with a project and a home of its own.
#[derive(Debug)]
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn make() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("interlock-demo-")
            .tempdir()?;
        let project = Self { folder };
        for directory in [
            "project/.git",
            "project/src",
            "project/.interlock/workflows",
            "home",
        ] {
            fs::create_dir_all(project.folder.path().join(directory))?;
        }
        project.write("src/add.sh", BUGGY)?;
        project.write("check.sh", CHECK)?;
        project.write(
            ".interlock/workflows/bugfix.yaml",
            include_str!("bugfix.yaml"),
        )?;
        Ok(project)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        Ok(fs::write(self.root().join(path), text)?)
    }

    /// Returns the project root, with links resolved.
    pub(crate) fn root(&self) -> PathBuf {
        let root = self.folder.path().join("project");
        root.canonicalize().unwrap_or(root)
    }

    /// Returns the home directory of the scripted agent.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns the state directory of the demo's runs.
    pub(crate) fn state(&self) -> Home {
        Home::at(self.home().join("state").join("interlock"))
    }

    /// Keeps the folder and returns its path.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// Replaces `old` by `new` in a file, as an agent's Edit tool does.
    pub(crate) fn edit(path: &Path, old: &str, new: &str) -> Result<(), Failure> {
        let text = fs::read_to_string(path)?;
        Ok(fs::write(path, text.replacen(old, new, 1))?)
    }
}
