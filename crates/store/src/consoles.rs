//! The ports of this machine on which consoles listen, so that shell lines of guarded agents cannot reach them.
//!
//! A port is not a secret. Each has its own file, locked as long as the console serves.

use std::{fs, path::PathBuf};

use crate::{error::StoreError, files, home::Home};

/// Directory of the files, below the state directory.
const PLACE: &str = "consoles";

/// The record of a console that serves, until it is dropped.
#[derive(Debug)]
pub struct ServedPort {
    path: PathBuf,
    // The lock goes when it is closed.
    _held: fs::File,
}

impl Home {
    /// Records that a console listens on `port`; removes the files of consoles that have ended.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn serve_console(&self, port: u16) -> Result<ServedPort, StoreError> {
        let place = self.made_place(PLACE)?;
        for name in files::names(&place)? {
            let path = place.join(name);
            let ended = files::open_plain(&path).is_ok_and(|file| file.try_lock().is_ok());
            if ended {
                files::remove(&path)?;
            }
        }
        let path = place.join(port.to_string());
        let held = files::lock(&path)?;
        Ok(ServedPort { path, _held: held })
    }
}

impl Drop for ServedPort {
    fn drop(&mut self) {
        // One that stays closes a port that nobody listens on, until the next console removes it.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_as_long_as_its_console_serves() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("state"));
        let ports = || files::names(&folder.path().join("state/consoles")).unwrap();
        let first = home.serve_console(4_041).unwrap();
        // One that was killed.
        fs::write(folder.path().join("state/consoles/4040"), "").unwrap();
        let second = home.serve_console(4_042).unwrap();
        assert_eq!(ports(), ["4041", "4042"]);
        drop(first);
        assert_eq!(ports(), ["4042"]);
        drop(second);
        assert!(ports().is_empty());
    }
}
