//! The consoles that a person has open.

use std::{fs, io::ErrorKind, path::Path};

/// Lists the ports on which a person's console listens: each console keeps a file open that is named after its port.
pub(crate) fn ports(state_directory: &Path) -> Vec<u16> {
    let files = fs::read_dir(state_directory.join("consoles"));
    files
        .into_iter()
        .flatten()
        .filter_map(|file| {
            let file = file.ok()?;
            let port = file.file_name().to_str()?.parse().ok()?;
            is_held(&file.path()).then_some(port)
        })
        .collect()
}

/// Returns whether a process has a file open; `true` where that cannot be found out.
fn is_held(path: &Path) -> bool {
    match fs::File::open(path).map(|file| file.try_lock_shared()) {
        Ok(Ok(())) => false,
        Err(error) => error.kind() != ErrorKind::NotFound,
        Ok(Err(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn a_console_listens_as_long_as_its_file_is_held() {
        let room = tempfile::tempdir().unwrap();
        assert_eq!(ports(room.path()), [0; 0]);
        let consoles = room.path().join("consoles");
        fs::create_dir(&consoles).unwrap();
        for name in ["4701", "4702", "no port"] {
            fs::write(consoles.join(name), "").unwrap();
        }
        let held = fs::File::open(consoles.join("4702")).unwrap();
        held.lock().unwrap();
        fs::File::open(consoles.join("no port"))
            .unwrap()
            .lock()
            .unwrap();
        assert_eq!(ports(room.path()), [4702]);
        drop(held);
        assert_eq!(ports(room.path()), [0; 0]);
        assert!(!is_held(&consoles.join("gone")));
    }
}
