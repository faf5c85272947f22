//! Compares protected files before and after a command, restores them and reports changes.
//!
//! Copies are kept in this process's memory, where the command cannot access them. This finds what cannot be prevented: protected
//! files that did not exist yet, files that may change in part, and all of them if mounts are refused.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::links::Links;
use crate::outcome::{Answer, Change, Changed};
use crate::plan::{Free, PostCheck, Protected};

mod ancestors;
mod keys;
mod restore;
mod settled;
mod tree;
mod written;

use ancestors::Ancestors;
use restore::Quarantine;
use settled::Nearest;
use tree::Tree;
use written::Written;

/// Maximum number of links in a path, as in Linux.
const LINKS_MAX: usize = 40;

/// What was found after a command.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) changed: Vec<Changed>,
    pub(crate) wrote: Vec<String>,
    pub(crate) unseen: Option<String>,
}

/// The state before a command.
#[derive(Debug)]
pub(crate) struct Before {
    watched: Vec<Watched>,
    /// Their paths, as written.
    known: BTreeSet<OsString>,
    ancestors: Ancestors,
    nearest: Nearest,
    written: Written,
    aside: Option<PathBuf>,
}

/// A protected file and its earlier state.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    free: Free,
    tree: Tree,
    /// Nearest existing ancestor, if nothing was at its path.
    nearest: Option<PathBuf>,
}

impl Before {
    /// Records everything in `afterwards` that `is_held` does not cover.
    pub(crate) fn look(
        post_check: &PostCheck,
        project: &Path,
        is_held: &dyn Fn(&Protected) -> bool,
        links: &Links,
    ) -> Self {
        let mut room = tree::Room::default();
        let mut before = Self {
            watched: Vec::new(),
            known: BTreeSet::new(),
            ancestors: Ancestors::default(),
            nearest: Nearest::at(SystemTime::now()),
            written: Written::look(project, &post_check.reported),
            aside: post_check.aside.clone(),
        };
        for one in post_check.protected.iter().filter(|one| !is_held(one)) {
            before.watch(one, &mut room, links);
        }
        before
    }

    /// Records one file, and the targets of its links, as far as the system follows them.
    fn watch(&mut self, one: &Protected, room: &mut tree::Room, links: &Links) {
        let mut at = Some(one.path.clone());
        for _ in 0..=LINKS_MAX {
            let Some(path) = at else { return };
            at = self.watch_one(&path, &one.free, room, links);
        }
    }

    /// Records what is at `path`, and returns its target, if it is a link.
    fn watch_one(
        &mut self,
        path: &Path,
        free: &Free,
        room: &mut tree::Room,
        links: &Links,
    ) -> Option<PathBuf> {
        let path = links.real_above(path);
        if !self.known.insert(path.as_os_str().to_owned()) {
            return None;
        }
        let (tree, nearest) = if links.is_absent(&path) {
            (Tree::empty(&path), self.nearest.above(&path, links))
        } else {
            (Tree::read(&path, free, Some(room)), None)
        };
        if !tree.is_empty() {
            self.ancestors.hold(&path);
        }
        // Also for a missing target: creating it changes what is read through the link.
        let leads = tree
            .link()
            .zip(path.parent())
            .map(|(target, above)| above.join(target));
        self.watched.push(Watched {
            path,
            free: free.clone(),
            tree,
            nearest,
        });
        leads
    }

    /// Compares with the present state, and restores what must not have changed.
    pub(crate) fn compare(mut self, project: &Path) -> Found {
        let mut found = Found {
            wrote: self.written.compare(project),
            unseen: self.written.unseen(),
            ..Found::default()
        };
        let aside = |root: &Path| Quarantine::new(self.aside.as_deref(), root);
        found.changed = self.ancestors.restore(&|path| aside(path));
        let settled = self.nearest.settled();
        let is_settled = |nearest: &PathBuf| settled.contains(nearest.as_path());
        for watched in &self.watched {
            if watched.nearest.as_ref().is_some_and(is_settled) {
                continue;
            }
            watched.compare(&aside(&watched.path), &mut found.changed);
        }
        found
    }
}

impl Watched {
    fn compare(&self, aside: &Quarantine, changed: &mut Vec<Changed>) {
        let now = Tree::read(&self.path, &self.free, None);
        // Parents come before their contents.
        let mut told: Vec<(PathBuf, Change)> = Vec::new();
        for (path, change) in self.tree.changes(&now) {
            if self.is_free(&path, change) {
                continue;
            }
            let known = told
                .iter()
                .any(|(above, what)| *what == change && path.starts_with(above) && path != *above);
            if known && change == Change::Appeared {
                continue;
            }
            let answer = self
                .tree
                .restore(&path, change, aside)
                .unwrap_or_else(|error| Answer::Left(error.to_string()));
            if !known || matches!(answer, Answer::Left(_)) {
                changed.push(Changed {
                    path: path.clone(),
                    change,
                    answer,
                });
            }
            told.push((path, change));
        }
    }

    /// Returns whether a change of a file affects only what may change there.
    fn is_free(&self, path: &Path, change: Change) -> bool {
        if change == Change::Removed {
            return false;
        }
        let before = self.tree.bytes(path);
        match &self.free {
            Free::Nothing | Free::Below(_) => false,
            Free::GitKeys(names) => keys::git_agrees(before, path, names),
            Free::AllBut(names) => keys::json_agrees(before, path, names),
        }
    }
}
