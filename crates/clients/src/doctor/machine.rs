//! Requirements of Interlock itself.

use std::path::Path;

use super::{Check, Examination, Health, probe};

/// Checks the state directory and version control.
pub(super) fn checks(examination: &Examination) -> [Check; 2] {
    [state(&examination.state), git()]
}

fn state(path: &Path) -> Check {
    let writable =
        std::fs::create_dir_all(path).and_then(|()| tempfile::NamedTempFile::new_in(path));
    match writable {
        Ok(_) => Check::own(
            "state directory",
            Health::Ok,
            path.display().to_string(),
            "",
        ),
        Err(error) => Check::own(
            "state directory",
            Health::Fail,
            format!("`{}` cannot be written: {error}", path.display()),
            "make it writable: every call of a guarded session is denied until then",
        ),
    }
}

fn git() -> Check {
    match probe::version(Path::new("git")) {
        Some(version) => Check::own("git", Health::Ok, version, ""),
        None => Check::own(
            "git",
            Health::Warn,
            "not found on PATH",
            "install it: without version control nothing that an agent wrote can be undone",
        ),
    }
}
