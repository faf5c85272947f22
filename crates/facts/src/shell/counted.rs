//! Additional written paths of a line: other names of a file, and beginnings of names.

use std::collections::VecDeque;

use crate::{
    context::CallContext,
    disk::{Disk, Kind},
    path::relative,
    place::{self, Located},
};

/// Programs besides the copiers that fill a directory from their operands.
pub(super) const MIRRORS: [&str; 2] = ["rsync", "scp"];
/// Maximum number of entries of a project that are examined for other names of one file.
const ENTRIES_MAX: usize = 4_000;
/// Directories without files of the project's own.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Returns whether a program changes no text: only times, modes or directories.
pub(super) fn changes_no_text(by: &str) -> bool {
    let program = by.split_whitespace().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(name, "touch" | "mkdir" | "chmod" | "chown" | "chgrp")
}

/// Returns whether a git command restores files that are not on the disk.
pub(super) fn restores(by: &str) -> bool {
    let verb = by.split_whitespace().nth(1);
    matches!(verb, Some("checkout" | "restore" | "checkout-index"))
}

/// Returns the known beginning of names, relative to the project.
///
/// If it ends with a directory, `*` represents the rest.
pub(super) fn beginning(below: &str, context: &CallContext) -> Option<String> {
    let rest = relative(below, &context.project_root)?;
    let rest = rest.trim_start_matches('/');
    match rest {
        "" => None,
        rest if rest.ends_with('/') => Some(format!("{rest}*")),
        rest => Some(rest.to_owned()),
    }
}

/// Returns the other names of a file in the project, nearest to its root first.
///
/// A file with one link has none, and nothing is examined.
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
            // A symbolic link is not another name.
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
