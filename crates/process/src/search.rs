//! Finds a program by its name.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Finds the first program called `name` on `path`, a list like that of `$PATH`.
///
/// A name with a `/` is a path, relative to `directory`, and so are relative
/// places on the list.
#[must_use]
pub fn find_program(name: &str, path: Option<&OsStr>, directory: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        let file = directory.join(name);
        return is_program(&file).then_some(file);
    }
    std::env::split_paths(path?)
        .map(|place| directory.join(place).join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::find_program;

    #[test]
    fn the_first_program_of_that_name_is_taken() {
        let room = tempfile::tempdir().unwrap();
        for (place, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            let place = room.path().join(place);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("tool"), "").unwrap();
            fs::set_permissions(place.join("tool"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths(["a", "b", "c"]).unwrap();
        let find = |name| find_program(name, Some(&path), room.path());
        assert_eq!(find("tool"), Some(room.path().join("b/tool")));
        assert_eq!(find("c/tool"), Some(room.path().join("c/tool")));
        assert_eq!(find("a/tool"), None);
        assert_eq!(find("other"), None);
        assert_eq!(find(""), None);
    }
}
