//! A comparison that found nothing, stored so that it can be repeated more cheaply.
//!
//! The result of a comparison follows from the answers of the disk. If it only asked for stamps, and every answer is unchanged,
//! it would find nothing again.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    canonical::hex,
    context::CallContext,
    disk::{Disk, DiskError, Kind, Seen, Stamp},
};

/// What a person has accepted, by path, as its digest; `None` for its removal.
type Accepted = BTreeMap<String, Option<String>>;

/// What a comparison that found nothing asked the disk, and the digest of the answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quiet {
    /// Paths whose stamps it asked for.
    stamps: Vec<String>,
    /// Paths that it looked up.
    looks: Vec<String>,
    /// SHA-256 of the answers, in hexadecimal.
    answers: String,
    /// Whether it asks for something missing in a directory that had just changed; never stored in this case.
    #[serde(skip)]
    asks_more: bool,
    /// Key of the protected paths: [`CallContext::places_key`].
    places: String,
    accepted: Accepted,
}

impl Quiet {
    /// Returns whether a later comparison would not ask for less.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        !self.asks_more
    }

    /// Returns whether the same comparison would find nothing again.
    ///
    /// Repeats everything that the comparison asked for; any different answer means no. `places` is the key of the paths that are
    /// protected now: [`CallContext::places_key`].
    #[must_use]
    pub fn holds(&self, places: &str, accepted: &Accepted, disk: &dyn Disk) -> bool {
        self.accepted == *accepted
            && self.places == places
            && self.answers == {
                let mut answers = Answers::default();
                for path in &self.looks {
                    answers.look(path, disk.look(path));
                }
                for path in &self.stamps {
                    answers.stamp(path, disk.stamp(path).as_ref());
                }
                answers.digest()
            }
    }
}

/// Answers of a disk, encoded unambiguously.
#[derive(Default)]
struct Answers(Vec<u8>);

impl Answers {
    fn look(&mut self, path: &str, seen: Option<Seen>) {
        self.text(path);
        self.0.push(u8::from(seen.is_some()));
        if let Some(Seen { kind, id, links }) = seen {
            let (device, file) = id.unwrap_or_default();
            self.kind(kind);
            self.0.push(u8::from(id.is_some()));
            self.numbers([device, file, links]);
        }
    }

    fn stamp(&mut self, path: &str, stamp: Option<&Stamp>) {
        self.text(path);
        self.0.push(u8::from(stamp.is_some()));
        if let Some(stamp) = stamp {
            let [written, changed] = stamp.times.map(i64::cast_unsigned);
            self.kind(stamp.kind);
            self.0.push(u8::from(stamp.link.is_some()));
            self.text(stamp.link.as_deref().unwrap_or_default());
            self.numbers(stamp.numbers);
            self.numbers([written, changed]);
        }
    }

    fn text(&mut self, text: &str) {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.numbers([length]);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn kind(&mut self, kind: Kind) {
        self.0.push(match kind {
            Kind::File => 0,
            Kind::Directory => 1,
            Kind::Other => 2,
        });
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn digest(self) -> String {
        hex(&Sha256::digest(self.0))
    }
}

/// Returns the ancestors of a path, nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(super::above(path), |above| super::above(above))
}

/// A disk that records what it was asked for.
pub(super) struct Listened<'a> {
    disk: &'a dyn Disk,
    stamps: RefCell<BTreeMap<String, Option<Stamp>>>,
    looks: RefCell<BTreeMap<String, Option<Seen>>>,
    /// Whether something was asked that cannot be repeated more cheaply, or was answered in two ways.
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

    /// Returns the recording, if only stamps were asked for.
    ///
    /// A missing path need not be asked for if an ancestor directory would show that something was added: its stamp is older than
    /// `young_ns`, and is asked for.
    pub(super) fn quiet(
        self,
        context: &CallContext,
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
            nearest.is_some_and(|it| it.kind == Kind::Directory && super::is_older(it, young_ns))
        };
        let asked = all
            .iter()
            .filter(|(path, stamp)| stamp.is_some() || !shows(path));
        let looks = self.looks.into_inner();
        let mut answers = Answers::default();
        for (path, seen) in &looks {
            answers.look(path, *seen);
        }
        let mut stamps = Vec::new();
        let mut asks_more = false;
        for (path, stamp) in asked {
            asks_more |= stamp.is_none();
            answers.stamp(path, stamp.as_ref());
            stamps.push(path.clone());
        }
        Some(Quiet {
            stamps,
            looks: looks.into_keys().collect(),
            answers: answers.digest(),
            asks_more,
            places: context.places_key(),
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
