//! Reported writes, found by comparing the project's files before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use interlock_core::glob;

use super::tree::Stamp;

/// Maximum number of entries examined in a project.
const ENTRIES_MAX: usize = 50_000;
/// Maximum nesting of directories that are examined.
const DEPTH_MAX: usize = 60;

/// Earlier state of a project's reported files.
#[derive(Debug, Default)]
pub(super) struct Written {
    patterns: Vec<String>,
    before: BTreeMap<String, Stamp>,
    is_whole: bool,
}

impl Written {
    /// Records every file of `project` that one of `patterns` matches.
    pub(super) fn look(project: &Path, patterns: &[String]) -> Self {
        let (before, is_whole) = stand(project, patterns);
        Self {
            patterns: patterns.to_vec(),
            before,
            is_whole,
        }
    }

    /// Lists the files that were changed, added or removed, relative to the project.
    pub(super) fn compare(&mut self, project: &Path) -> Vec<String> {
        let (now, is_whole) = stand(project, &self.patterns);
        self.is_whole &= is_whole;
        let either: BTreeSet<_> = self.before.keys().chain(now.keys()).collect();
        either
            .into_iter()
            .filter(|path| self.before.get(*path) != now.get(*path))
            .cloned()
            .collect()
    }

    /// Returns why the list may be incomplete.
    pub(super) fn unseen(&self) -> Option<String> {
        (!self.is_whole).then(|| {
            format!("the project contains more than {ENTRIES_MAX} files that a pattern could match")
        })
    }
}

fn stand(project: &Path, patterns: &[String]) -> (BTreeMap<String, Stamp>, bool) {
    let mut found = BTreeMap::new();
    let matchers: Vec<_> = patterns
        .iter()
        .filter_map(|one| glob::compile(one).ok())
        .collect();
    if matchers.is_empty() {
        return (found, true);
    }
    let mut left = ENTRIES_MAX;
    let mut open: Vec<_> = roots(project, patterns)
        .into_iter()
        .map(|root| (root, 0))
        .collect();
    while let Some((path, depth)) = open.pop() {
        let Ok(about) = fs::symlink_metadata(&path) else {
            continue;
        };
        let Some(rest) = left.checked_sub(1) else {
            return (found, false);
        };
        left = rest;
        if about.is_dir() {
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            if depth < DEPTH_MAX {
                open.extend(below.map(|entry| (entry.path(), depth + 1)));
            }
        } else if let Some(name) = path.strip_prefix(project).ok().and_then(Path::to_str)
            && matchers.iter().any(|matcher| matcher.is_match(name))
        {
            found.insert(name.to_owned(), Stamp::of(&about));
        }
    }
    (found, true)
}

/// Returns the paths below which a pattern can match, none inside another.
fn roots(project: &Path, patterns: &[String]) -> Vec<PathBuf> {
    let mut roots: Vec<_> = patterns
        .iter()
        .map(|pattern| project.join(beginning(pattern)))
        .collect();
    roots.sort();
    roots.dedup_by(|later, earlier| later.starts_with(earlier));
    roots
}

/// Returns the directories in a pattern before its first special character.
fn beginning(pattern: &str) -> PathBuf {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    pattern
        .split('/')
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']) && *part != "..")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_may_lack_something_says_so() {
        let nowhere = Path::new("/nowhere");
        let mut looked = Written::look(nowhere, &["*.txt".to_owned()]);
        assert_eq!((looked.compare(nowhere), looked.unseen()), (vec![], None));
        // Once cut short, it stays incomplete.
        looked.is_whole = false;
        assert_eq!(looked.compare(nowhere), Vec::<String>::new());
        let why = looked.unseen().unwrap_or_default();
        assert!(why.contains("more than 50000 files"), "{why}");
    }
}
