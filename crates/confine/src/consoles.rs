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
