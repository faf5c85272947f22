//! Replaces a file atomically: completely, or the old one stays.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};

use super::OutputError;

/// No more names than this are tried: that many processes write the same file at once.
const TRIES_MAX: usize = 1_000;

/// Copies `source` to `target`, written next to it and renamed; no source means an empty file.
///
/// Missing folders are created.
pub(crate) fn place(source: Option<&Path>, target: &Path) -> Result<(), OutputError> {
    put(source, target).map_err(|error| OutputError::NotKept {
        path: target.display().to_string(),
        why: error.to_string(),
    })
}

fn put(source: Option<&Path>, target: &Path) -> io::Result<()> {
    // A link is followed, as in a shell; its target is replaced.
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
    // Its lock is held until it has its final name, or is removed.
    let (beside, mut file) = begun(directory, name)?;
    let written = write(source, &mut file, target).and_then(|()| fs::rename(&beside, target));
    if written.is_err() {
        // Only the own unfinished file; the first error is the one that matters.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Creates the temporary file next to the target, and locks it.
///
/// A leftover of a killed process with such a name is removed: nobody holds its lock.
fn begun(directory: &Path, name: &OsStr) -> io::Result<(PathBuf, File)> {
    // A name of maximum length leaves no room for another one next to it.
    let short: String = name.to_string_lossy().chars().take(40).collect();
    let mut number = 0;
    for _ in 0..TRIES_MAX {
        let beside = directory.join(format!(".{short}.{number}.new"));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
        {
            Ok(file) => {
                // Where files cannot be locked, nothing removes another's file either.
                let _ = file.lock();
                if same(&file, &beside) {
                    return Ok((beside, file));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !removed(&beside) {
                    number += 1;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes an abandoned temporary file; returns `false` if it is in use, or is not such a file.
fn removed(beside: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match open(beside, flags, Mode::empty()) {
        // It was renamed meanwhile.
        Err(error) => error == Errno::NOENT,
        Ok(file) => {
            let file = File::from(file);
            let ours = file.metadata().is_ok_and(|found| found.is_file());
            // Under its lock the name cannot change: its creator renames it only while it holds the lock.
            ours && file.try_lock().is_ok()
                && (!same(&file, beside) || fs::remove_file(beside).is_ok())
        }
    }
}

/// Returns whether `path` still names `file`.
fn same(file: &File, path: &Path) -> bool {
    let (Ok(one), Ok(other)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn write(source: Option<&Path>, file: &mut File, target: &Path) -> io::Result<()> {
    copy(source, file)?;
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
    fn what_a_killed_process_left_is_taken_away_and_what_another_writes_is_not() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        fs::write(at("source"), "new").unwrap();
        fs::write(at(".file.0.new"), "another writes th").unwrap();
        fs::write(at(".file.1.new"), "half of a kil").unwrap();
        std::os::unix::fs::symlink("source", at(".other.0.new")).unwrap();
        let another = fs::File::open(at(".file.0.new")).unwrap();
        another.lock().unwrap();
        place(Some(&at("source")), &at("file")).unwrap();
        place(None, &at("other")).unwrap();
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("source")).unwrap(), "new");
        assert!(at(".file.0.new").exists());
        assert!(at(".other.0.new").is_symlink());
        assert!(!at(".file.1.new").exists());
    }

    #[test]
    fn files_written_at_once_are_each_whole() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        let texts = ["a".repeat(100_000), "b".repeat(70_000)];
        for (number, text) in texts.iter().enumerate() {
            fs::write(at(&number.to_string()), text).unwrap();
        }
        std::thread::scope(|scope| {
            for number in 0..8 {
                let source = at(&(number % 2).to_string());
                let target = at("file");
                scope.spawn(move || {
                    for _ in 0..20 {
                        place(Some(&source), &target).unwrap();
                    }
                });
            }
        });
        let found = fs::read_to_string(at("file")).unwrap();
        assert!(texts.contains(&found));
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 3);
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
