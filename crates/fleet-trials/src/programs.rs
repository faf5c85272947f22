//! The built programs that trials start.

use std::{env, path::PathBuf};

/// The folder of the programs.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Uses the programs in a folder, by default the one of this program.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn in_folder(folder: Option<PathBuf>) -> Result<Self, String> {
        let own = env::current_exe().ok();
        let beside = own.and_then(|own| own.parent().map(PathBuf::from));
        let folder = folder.or(beside).unwrap_or_default();
        let programs = Self { folder };
        for name in ["interlock", "interlock-shared", "interlock-worker"] {
            let program = programs.folder.join(name);
            if !program.is_file() {
                let shown = program.display();
                return Err(format!(
                    "`{shown}` is not built: build it, or name its folder with --programs"
                ));
            }
        }
        Ok(programs)
    }

    pub(crate) fn interlock(&self) -> PathBuf {
        self.folder.join("interlock")
    }

    pub(crate) fn shared(&self) -> PathBuf {
        self.folder.join("interlock-shared")
    }

    pub(crate) fn worker(&self) -> PathBuf {
        self.folder.join("interlock-worker")
    }
}
