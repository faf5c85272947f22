//! Files that match a pattern or are below a directory, according to the disk.

use std::collections::VecDeque;

use interlock_core::glob::compile;

use crate::disk::{Disk, Kind};

/// Maximum number of files listed for one path of a line; the rest is left to the kernel.
const FILES_MAX: usize = 1_000;

/// Maximum number of names read in one directory.
const NAMES_MAX: usize = 10_000;

/// Returns the paths that a pattern matches, relative to its literal beginning.
///
/// Returns `None` if the pattern is not simple, and an empty list if nothing matches.
pub(super) fn matching(pattern: &str, below: &str, disk: &dyn Disk) -> Option<Vec<String>> {
    let special = |c: char| "{}$`\"'\\~()|<>".contains(c);
    if pattern.contains(special) || pattern.contains("**") {
        return None;
    }
    let start = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    if start.split('/').any(|part| matches!(part, "." | "..")) {
        return None;
    }
    let base = if pattern.starts_with('/') {
        ""
    } else {
        below.strip_suffix(start)?.trim_end_matches('/')
    };
    let mut found = vec![base.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for directory in &found {
            step(directory, part, disk, &mut next)?;
            if next.len() > FILES_MAX {
                return None;
            }
        }
        found = next;
    }
    Some(found)
}

/// Adds what `part` of a pattern matches in `directory`.
fn step(directory: &str, part: &str, disk: &dyn Disk, next: &mut Vec<String>) -> Option<()> {
    if !part.contains(['*', '?', '[']) {
        let path = format!("{directory}/{part}");
        if disk.look(&path).is_some() {
            next.push(path);
        }
        return Some(());
    }
    let matcher = compile(part).ok()?;
    let listed = if directory.is_empty() { "/" } else { directory };
    let names = disk.names(listed, NAMES_MAX);
    if names.len() == NAMES_MAX {
        return None;
    }
    let hidden = part.starts_with('.');
    let names = names
        .iter()
        .filter(|name| (hidden || !name.starts_with('.')) && matcher.is_match(name.as_str()))
        .map(|name| format!("{directory}/{name}"));
    next.extend(names);
    Some(())
}

/// Returns the files below a directory, nearest first, without following links.
pub(crate) fn below(directory: &str, disk: &dyn Disk) -> Vec<String> {
    let mut files = Vec::new();
    let mut open = VecDeque::from([directory.to_owned()]);
    let mut seen = 0;
    while let Some(at) = open.pop_front() {
        for name in disk.names(&at, NAMES_MAX) {
            seen += 1;
            if seen > FILES_MAX {
                return files;
            }
            let path = format!("{}/{name}", at.trim_end_matches('/'));
            let is_link = disk.real(&path).ok().as_deref() != Some(&path);
            match disk.look(&path).map(|seen| seen.kind) {
                Some(Kind::Directory) if !is_link => open.push_back(path),
                _ => files.push(path),
            }
        }
    }
    files
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::fs;

    use super::*;
    use crate::RealDisk;

    #[test]
    fn a_pattern_leads_to_what_is_there() {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        for name in ["a/x.txt", "b/y.txt", "c/.x.txt"] {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let base = base.to_str().unwrap();
        for (pattern, wanted) in [
            ("*/x.txt", &["a/x.txt"][..]),
            ("*/*.txt", &["a/x.txt", "b/y.txt"]),
            ("*/z.txt", &[]),
        ] {
            let mut found = matching(pattern, base, &RealDisk).unwrap();
            found.sort();
            let wanted: Vec<String> = wanted.iter().map(|name| format!("{base}/{name}")).collect();
            assert_eq!(found, wanted, "{pattern}");
        }
    }
}
