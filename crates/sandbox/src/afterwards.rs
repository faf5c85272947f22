//! What is compared before and after a command, put back and reported.
//!
//! Copies are kept in this process's memory, where the command cannot reach them.
//! What cannot be prevented is found here: protected things that are not there yet,
//! files that may change in part, and all of them where mounts are refused.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::links::Links;
use crate::outcome::{Answer, Change, Changed};
use crate::plan::{Free, PostCheck, Protected};

mod ancestors;
mod keys;
mod put_back;
mod settled;
mod tree;
mod written;

use ancestors::Ancestors;
use put_back::Quarantine;
use settled::Nearest;
use tree::Tree;
use written::Written;

/// Links followed one after the other, as Linux has it.
const LINKS_MAX: usize = 40;

/// What was found after a command.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) changed: Vec<Changed>,
    pub(crate) wrote: Vec<String>,
    pub(crate) unseen: Option<String>,
}

/// How things stood before a command.
#[derive(Debug)]
pub(crate) struct Before {
    watched: Vec<Watched>,
    /// Their paths, as they are written.
    known: BTreeSet<OsString>,
    ancestors: Ancestors,
    nearest: Nearest,
    written: Written,
    aside: Option<PathBuf>,
}

/// One protected thing and how it stood.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    free: Free,
    tree: Tree,
    /// The nearest directory above it, where nothing was at its path.
    nearest: Option<PathBuf>,
}

impl Before {
    /// Looks at all that `afterwards` names and `is_held` does not answer for.
    pub(crate) fn look(
        afterwards: &PostCheck,
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
            written: Written::look(project, &afterwards.reported),
            aside: afterwards.aside.clone(),
        };
        for one in afterwards.protected.iter().filter(|one| !is_held(one)) {
            before.watch(one, &mut room, links);
        }
        before
    }

    /// Watches one thing, and where its links lead, as far as the system follows them.
    fn watch(&mut self, one: &Protected, room: &mut tree::Room, links: &Links) {
        let mut at = Some(one.path.clone());
        for _ in 0..=LINKS_MAX {
            let Some(path) = at else { return };
            at = self.watch_one(&path, &one.free, room, links);
        }
    }

    /// Watches what is at `path`, and returns where it leads, if it is a link.
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
        // Also where nothing is there: whoever makes that makes what is read through the link.
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

    /// Compares with how things stand now, and puts back what must not have changed.
    pub(crate) fn compare(mut self, project: &Path) -> Found {
        let mut found = Found {
            wrote: self.written.compare(project),
            unseen: self.written.unseen(),
            ..Found::default()
        };
        let aside = |root: &Path| Quarantine::new(self.aside.as_deref(), root);
        found.changed = self.ancestors.put_back(&|path| aside(path));
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
        // Parents come before what is in them.
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
                .put_back(&path, change, aside)
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

    /// Tells whether a change of a file concerns only what may change there.
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
