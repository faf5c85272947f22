//! A comparison that found nothing, kept so that it can be made again for less.
//!
//! What a comparison finds follows from what the disk answers. Where it asked
//! for stamps only, and every answer is as it was, it would find nothing again.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use crate::{
    disk::{Disk, DiskError, Kind, Seen, Stamp},
    surroundings::Surroundings,
};

/// What a person has accepted, by path, as its digest; `None`: that it is gone.
type Accepted = BTreeMap<String, Option<String>>;

/// What a comparison that found nothing was told by the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    stamps: BTreeMap<String, Option<Stamp>>,
    looks: BTreeMap<String, Option<Seen>>,
    surroundings: Surroundings,
    accepted: Accepted,
}

impl Quiet {
    /// Tells whether the same comparison would find nothing again.
    ///
    /// Asks for everything that the comparison asked for; any other answer is a no.
    #[must_use]
    pub fn holds(&self, surroundings: &Surroundings, accepted: &Accepted, disk: &dyn Disk) -> bool {
        self.accepted == *accepted
            && self.surroundings == *surroundings
            && self
                .looks
                .iter()
                .all(|(path, seen)| disk.look(path) == *seen)
            && (self.stamps.iter()).all(|(path, stamp)| disk.stamp(path) == *stamp)
    }
}

/// Names what is above a path, nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(super::above(path), |above| super::above(above))
}

/// A disk that remembers what it was asked for.
pub(super) struct Listened<'a> {
    disk: &'a dyn Disk,
    stamps: RefCell<BTreeMap<String, Option<Stamp>>>,
    looks: RefCell<BTreeMap<String, Option<Seen>>>,
    /// Whether something was asked that cannot be asked again for less, or answered in two ways.
    more: Cell<bool>,
}

impl<'a> Listened<'a> {
    pub(super) const fn to(disk: &'a dyn Disk) -> Self {
        Self {
            disk,
            stamps: RefCell::new(BTreeMap::new()),
            looks: RefCell::new(BTreeMap::new()),
            more: Cell::new(false),
        }
    }

    /// Returns what was heard, where it was nothing but stamps.
    ///
    /// What is not there need not be asked for where a directory above it would show that
    /// something came: its stamp is older than `young_ns`, and is asked for.
    pub(super) fn quiet(
        self,
        surroundings: &Surroundings,
        accepted: &Accepted,
        young_ns: i64,
    ) -> Option<Quiet> {
        if self.more.get() {
            return None;
        }
        let all = self.stamps.into_inner();
        let shows = |path: &str| {
            let mut known = above(path).map_while(|above| all.get(above));
            let nearest = known.find_map(Option::as_ref);
            nearest.is_some_and(|it| it.kind == Kind::Directory && it.times[1] < young_ns)
        };
        let asked = all
            .iter()
            .filter(|(path, stamp)| stamp.is_some() || !shows(path));
        Some(Quiet {
            stamps: asked
                .map(|(path, stamp)| (path.clone(), stamp.clone()))
                .collect(),
            looks: self.looks.into_inner(),
            surroundings: surroundings.clone(),
            accepted: accepted.clone(),
        })
    }

    fn keep<T: Clone + PartialEq>(
        &self,
        known: &RefCell<BTreeMap<String, T>>,
        path: &str,
        answer: T,
    ) -> T {
        let before = known.borrow_mut().insert(path.to_owned(), answer.clone());
        if before.is_some_and(|before| before != answer) {
            self.more.set(true);
        }
        answer
    }
}

impl Disk for Listened<'_> {
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DiskError> {
        self.more.set(true);
        self.disk.read(path, bytes_max)
    }

    fn real(&self, path: &str) -> Result<String, DiskError> {
        self.more.set(true);
        self.disk.real(path)
    }

    fn look(&self, path: &str) -> Option<Seen> {
        self.keep(&self.looks, path, self.disk.look(path))
    }

    fn stamp(&self, path: &str) -> Option<Stamp> {
        self.keep(&self.stamps, path, self.disk.stamp(path))
    }

    fn names(&self, directory: &str, max: usize) -> Vec<String> {
        self.more.set(true);
        self.disk.names(directory, max)
    }
}
