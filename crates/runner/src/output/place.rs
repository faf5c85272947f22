//! Puts a file where it is wanted: whole, or the old one stays.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::OutputError;

/// Tells files of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Copies `source` to `target`, written beside it and renamed; no source is an empty file.
///
/// Folders that lack are made.
pub(crate) fn place(source: Option<&Path>, target: &Path) -> Result<(), OutputError> {
    put(source, target).map_err(|error| OutputError::NotKept {
        path: target.display().to_string(),
        why: error.to_string(),
    })
}

fn put(source: Option<&Path>, target: &Path) -> io::Result<()> {
    // A link is followed, as a shell would; what it leads to is replaced.
    let target = &through_links(target)?;
    match fs::metadata(target) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // A device or a pipe is written to, never replaced.
        Ok(found) if !found.is_file() => return copy(source, &mut File::create(target)?),
        _ => {}
    }
    let (Some(directory), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fs::create_dir_all(directory)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let own = std::process::id();
    // A name as long as the system takes leaves no room for another beside it.
    let short: String = name.to_string_lossy().chars().take(40).collect();
    let beside = directory.join(format!(".{short}.{own}-{number}.new"));
    let written = write(source, &beside, target).and_then(|()| fs::rename(&beside, target));
    if written.is_err() {
        // Only our own unfinished file; the error that counts is the first.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write(source: Option<&Path>, beside: &Path, target: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(beside)?;
    copy(source, &mut file)?;
    if let Ok(before) = fs::metadata(target) {
        file.set_permissions(before.permissions())?;
    }
    Ok(())
}

fn copy(source: Option<&Path>, file: &mut File) -> io::Result<()> {
    if let Some(source) = source {
        io::copy(&mut File::open(source)?, file)?;
    }
    Ok(())
}

fn through_links(target: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(target.to_owned()),
        real => real,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::place;

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        fs::write(at("source"), "new").unwrap();
        fs::write(at("old"), "a longer text").unwrap();
        fs::set_permissions(at("old"), fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("old", at("link")).unwrap();
        place(Some(&at("source")), &at("link")).unwrap();
        assert_eq!(fs::read_to_string(at("old")).unwrap(), "new");
        assert!(at("link").is_symlink());
        let mode = fs::metadata(at("old")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        place(None, &at("a/b/empty")).unwrap();
        assert_eq!(fs::read_to_string(at("a/b/empty")).unwrap(), "");
    }

    #[test]
    fn what_cannot_be_written_leaves_all_as_it_was() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        fs::write(at("source"), "new").unwrap();
        fs::create_dir(at("directory")).unwrap();
        fs::write(at("file"), "").unwrap();
        for target in ["directory", "file/below"] {
            assert!(place(Some(&at("source")), &at(target)).is_err(), "{target}");
        }
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 3);
    }
}
