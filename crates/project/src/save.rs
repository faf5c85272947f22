//! Workflow files that are written: each as a whole, and only over what was read.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Why a file was not written; it is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Something else wrote it since it was read.
    #[error("`{}` has changed since it was read: nothing was written", .0.display())]
    Changed(PathBuf),
    /// The system said no.
    #[error("`{}` cannot be written: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Replaces the text of a file, if it is still `before`; its permissions stay, and so does a link to it.
///
/// # Errors
/// When the file has changed, or cannot be read or written.
pub fn save(path: &Path, before: &str, after: &str) -> Result<(), SaveError> {
    let failed = |source| SaveError::Io {
        path: path.to_owned(),
        source,
    };
    let place = path.canonicalize().map_err(failed)?;
    let directory = place.parent().unwrap_or(Path::new("."));
    let known = fs::metadata(&place).map_err(failed)?;
    if known.permissions().readonly() {
        return Err(failed(io::Error::from(io::ErrorKind::PermissionDenied)));
    }
    // Its own name would tell nobody anything.
    let mut file = tempfile::NamedTempFile::new_in(directory)
        .map_err(|error| failed(io::Error::from(error.kind())))?;
    file.write_all(after.as_bytes()).map_err(failed)?;
    // Only root may, and only then it matters.
    let _ = std::os::unix::fs::fchown(file.as_file(), Some(known.uid()), Some(known.gid()));
    file.as_file()
        .set_permissions(known.permissions())
        .map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    // As late as can be: what is written after it is lost.
    let now = fs::read(&place).map_err(failed)?;
    if now != before.as_bytes() {
        return Err(SaveError::Changed(path.to_owned()));
    }
    file.persist(&place)
        .map(drop)
        .map_err(|error| failed(error.error))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_that_changed_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flow.yaml");
        fs::write(&path, "theirs").unwrap();
        let error = save(&path, "before", "after").unwrap_err();
        assert!(matches!(error, SaveError::Changed(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_read_only_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flow.yaml");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let error = save(&path, "before", "after").unwrap_err().to_string();
        assert!(
            error.ends_with("flow.yaml` cannot be written: permission denied"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    }

    #[test]
    fn a_link_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (
            folder.path().join("flow.yaml"),
            folder.path().join("link.yaml"),
        );
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        save(&link, "before", "after").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }
}
