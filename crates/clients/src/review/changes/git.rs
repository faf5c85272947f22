//! The diff between a commit and the working tree, for a person.

use std::path::{Path, PathBuf};

use interlock_store::{Home, Revision};

use crate::repository::Repository;

/// Maximum number of bytes of a diff that are read.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum number of new files that are examined.
const NEW_MAX: usize = 2_000;

/// A diff.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Changed files, relative to the top of the working tree.
    pub(super) files: Vec<PathBuf>,
    /// Lines of the diff, as git prints them.
    pub(super) lines: Vec<String>,
    /// What the diff does not show.
    pub(super) notes: Vec<String>,
}

/// Computes the diff against the commit at which the run began.
pub(super) fn difference(
    home: &Home,
    revision: &Revision,
    project: &Path,
) -> Result<Difference, String> {
    // Below the state directory, where no guarded agent writes.
    let room = Repository::open(home.path(), revision, project)?;
    let mut found = Difference::default();
    room.run(&["read-tree", &revision.commit], None, 0)?;
    let new = room.run(
        &["ls-files", "--others", "--exclude-standard", "-z"],
        None,
        BYTES_MAX,
    )?;
    // A trailing slash means another repository.
    let all: Vec<&[u8]> = new
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty() && !name.ends_with(b"/"))
        .collect();
    if all.len() > NEW_MAX {
        let more = all.len() - NEW_MAX;
        found
            .notes
            .push(format!("{more} more new files are not shown"));
    }
    let listed: Vec<u8> = all
        .iter()
        .take(NEW_MAX)
        .flat_map(|name| name.iter().copied().chain([0]))
        .collect();
    if !listed.is_empty() {
        room.run(
            &[
                "add",
                "--intent-to-add",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ],
            Some(listed),
            0,
        )?;
    }
    let diff = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--ignore-submodules=all",
    ];
    let names = room.run(
        &[&diff[..], &["--name-only", "--no-renames", "-z"]].concat(),
        None,
        BYTES_MAX,
    )?;
    found.files = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
        .collect();
    let shown = [
        "--stat=100",
        "--patch",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ];
    let text = room.run(&[&diff[..], &shown[..]].concat(), None, BYTES_MAX)?;
    if u64::try_from(text.len()).is_ok_and(|length| length >= BYTES_MAX) {
        found
            .notes
            .push("the diff is longer than what is read of it".to_owned());
    }
    found.lines = String::from_utf8_lossy(&text)
        .lines()
        .map(str::to_owned)
        .collect();
    Ok(found)
}
