//! What counts as written beside what a line names: other names of a file, and beginnings of names.

use std::collections::VecDeque;

use crate::{
    context::CallContext,
    disk::{Disk, Kind},
    path::relative,
    place::{self, Located},
};

/// Programs beside the copiers that fill a directory from what they are given.
pub(super) const MIRRORS: [&str; 2] = ["rsync", "scp"];
/// Entries of a project that are looked at for other names of one file.
const ENTRIES_MAX: usize = 4_000;
/// Directories that hold no file of the project's own.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Tells whether a program leaves the text of what it writes as it is: times, modes, directories.
pub(super) fn changes_no_text(by: &str) -> bool {
    let program = by.split_whitespace().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(name, "touch" | "mkdir" | "chmod" | "chown" | "chgrp")
}

/// Tells whether a version control command brings files back that the disk does not have.
pub(super) fn restores(by: &str) -> bool {
    let verb = by.split_whitespace().nth(1);
    matches!(verb, Some("checkout" | "restore" | "checkout-index"))
}

/// Returns the beginning of names that is known, relative to the project.
///
/// Where it ends with a directory, `*` stands for the rest.
pub(super) fn beginning(below: &str, context: &CallContext) -> Option<String> {
    let rest = relative(below, &context.project_root)?;
    let rest = rest.trim_start_matches('/');
    match rest {
        "" => None,
        rest if rest.ends_with('/') => Some(format!("{rest}*")),
        rest => Some(rest.to_owned()),
    }
}

/// Returns the other names that a file of the project has in it, nearest to its root first.
///
/// A file with one name has none, and nothing is looked at.
pub(crate) fn other_names(file: &Located, context: &CallContext, disk: &dyn Disk) -> Vec<Located> {
    let seen = disk
        .look(&file.real)
        .filter(|seen| seen.kind == Kind::File && seen.links > 1);
    let Some(id) = seen.and_then(|seen| seen.id) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut open = VecDeque::from([context.project_root.clone()]);
    let mut left = ENTRIES_MAX;
    while let Some(directory) = open.pop_front() {
        for name in disk.names(&directory, left) {
            left = left.saturating_sub(1);
            let path = format!("{}/{name}", directory.trim_end_matches('/'));
            // A link of its own is no other name.
            if disk.real(&path).ok().as_deref() != Some(&path) {
                continue;
            }
            match disk.look(&path) {
                Some(seen) if seen.kind == Kind::Directory => {
                    let is_skipped = SKIPPED.contains(&name.as_str());
                    open.extend((!is_skipped).then_some(path));
                }
                Some(seen) if seen.id == Some(id) && path != file.real => {
                    found.push(place::at(path.clone(), path, context));
                }
                _ => {}
            }
        }
        if left == 0 {
            break;
        }
    }
    found
}
