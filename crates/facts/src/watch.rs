//! Protected things compared with how they were when a run began.
//!
//! Stamps of the system come first and cost a call each; what a file holds is
//! read only where its stamp differs. A stamp as young as the comparison
//! itself proves nothing: a file may change twice within one tick of the clock.

mod digest;
mod quiet;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt as _, HashSet};
use interlock_core::event::{ProtectedChange, ProtectedFate};
use serde::{Deserialize, Serialize};

use crate::{
    context::CallContext,
    disk::{Disk, Kind, Stamp},
    path::is_within,
    protected::{Compared, ProtectedPath, places},
};

use quiet::Listened;
pub use quiet::Quiet;
pub use settings::SETTINGS_KEYS;

/// Files and directories looked at of one thing; one that has more is not looked at to its end.
const ENTRIES_MAX: usize = 500;
/// How deep a directory is looked into.
const DEPTH_MAX: usize = 6;
/// Nanoseconds within which a stamp is too young to be trusted.
const YOUNG_NS: i64 = 100_000_000;
/// The same where times are kept in whole milliseconds or more: FAT counts in steps of two seconds.
const YOUNG_COARSE_NS: i64 = 2_100_000_000;

/// How the protected things of a run were when it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Files that hold something that is compared.
    files: BTreeMap<String, FileBefore>,
    /// Directories, also those that something could appear in.
    directories: BTreeMap<String, Trusted>,
}

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBefore {
    /// Digest of what is compared; `None`: it holds nothing of that.
    digest: Option<String>,
    /// When it was last seen to hold that.
    seen: Trusted,
}

/// A stamp that proves something, or none.
type Trusted = Option<Stamp>;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What is not as it was, in the order of the paths.
    pub changes: Vec<ProtectedChange>,
    /// The same baseline with newer stamps, where keeping it spares reading next time.
    pub renewed: Option<Baseline>,
}

impl Baseline {
    /// Looks at everything protected as it is now.
    #[must_use]
    pub fn take(context: &CallContext, disk: &dyn Disk, at_ms: u64) -> Self {
        let empty = Self::default();
        let mut look = Look::new(&empty, disk, at_ms);
        look.at_all(&places(context, disk));
        look.now()
    }

    /// Compares everything protected with this; what a person has `accepted` counts as unchanged.
    #[must_use]
    pub fn compare(
        &self,
        context: &CallContext,
        accepted: &BTreeMap<String, Option<String>>,
        disk: &dyn Disk,
        at_ms: u64,
    ) -> Comparison {
        let things = places(context, disk);
        let mut look = Look::new(self, disk, at_ms);
        look.at_all(&things);
        let changes = look.changes(accepted, &things);
        let renewed = look.read_again.then(|| look.renewed(self));
        Comparison {
            changes,
            renewed: renewed.filter(|renewed| renewed != self),
        }
    }

    /// Compares the same for whoever will do so again: also returns what shows next time that nothing changed.
    ///
    /// `None` where something did, or where stamps alone do not show it.
    #[must_use]
    pub fn compare_again(
        &self,
        context: &CallContext,
        accepted: &BTreeMap<String, Option<String>>,
        disk: &dyn Disk,
        at_ms: u64,
    ) -> (Comparison, Option<Quiet>) {
        let listened = Listened::to(disk);
        let found = self.compare(context, accepted, &listened, at_ms);
        let nothing = found.changes.is_empty() && found.renewed.is_none();
        let quiet = nothing
            .then(|| listened.quiet(context, accepted, young_ns(at_ms)))
            .flatten();
        (found, quiet)
    }
}

/// A file as it is now.
struct FileNow {
    digest: Option<String>,
    seen: Trusted,
}

/// One look at everything protected.
struct Look<'a> {
    before: &'a Baseline,
    /// Every path that it knows.
    known: HashSet<&'a str>,
    disk: &'a dyn Disk,
    /// Stamps that are not older prove nothing.
    young_ns: i64,
    files: BTreeMap<String, FileNow>,
    directories: BTreeMap<String, Trusted>,
    /// By path, whether no name came or went in the nearest directory at it or above it.
    settled: HashMap<String, bool>,
    /// Whether anything had to be read or listed that need not be next time.
    read_again: bool,
    left: usize,
}

/// Returns the nanoseconds since 1970 from which on a stamp is too young to be trusted.
fn young_ns(at_ms: u64) -> i64 {
    i64::try_from(at_ms)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000_000)
        .saturating_sub(YOUNG_NS)
}

/// Tells whether a stamp is old enough to show every later change.
fn is_older(stamp: &Stamp, young_ns: i64) -> bool {
    let [_, changed] = stamp.times;
    let coarse = changed % 1_000_000 == 0;
    let more = if coarse {
        YOUNG_COARSE_NS - YOUNG_NS
    } else {
        0
    };
    changed.saturating_add(more) < young_ns
}

/// Names the directory of `path`; `None` for the root itself.
fn above(path: &str) -> Option<&str> {
    let (above, name) = path.rsplit_once('/')?;
    match (above, name) {
        ("", "") => None,
        ("", _) => Some("/"),
        (above, _) => Some(above),
    }
}

/// Directories that a client fills by itself, at its first start and after each update.
const UNPACKED: [&str; 1] = ["/skills/.system"];

impl<'a> Look<'a> {
    fn new(before: &'a Baseline, disk: &'a dyn Disk, at_ms: u64) -> Self {
        let paths = before.files.keys().chain(before.directories.keys());
        Self {
            before,
            known: paths.map(String::as_str).collect(),
            disk,
            young_ns: young_ns(at_ms),
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
            settled: HashMap::new(),
            read_again: false,
            left: ENTRIES_MAX,
        }
    }

    fn at_all(&mut self, things: &[ProtectedPath]) {
        for thing in things {
            self.left = ENTRIES_MAX;
            match thing.compared {
                Compared::Not => {}
                Compared::Parts(parts) => {
                    for part in parts {
                        let path = [&thing.path, "/", part.name].concat();
                        self.at(&path, part.compared, DEPTH_MAX);
                    }
                }
                compared => self.at(&thing.path, compared, DEPTH_MAX),
            }
        }
    }

    fn at(&mut self, path: &str, compared: Compared, depth: usize) {
        // Examples that come with every repository; version control does not run them by this name.
        let example = path.ends_with(".sample") && path.contains("/.git/");
        let unpacked = UNPACKED.iter().any(|end| path.ends_with(end));
        if self.left == 0 || depth == 0 || example || unpacked || self.still_absent(path) {
            return;
        }
        self.left -= 1;
        let Some(stamp) = self.disk.stamp(path) else {
            return;
        };
        if stamp.kind == Kind::Directory {
            for name in self.names(path, &stamp) {
                self.at(&format!("{path}/{name}"), compared, depth - 1);
            }
            return;
        }
        let file = self.file(path, compared, stamp);
        self.files.insert(path.to_owned(), file);
    }

    fn file(&mut self, path: &str, by: Compared, stamp: Stamp) -> FileNow {
        if let Some(before) = self.before.files.get(path)
            && before.seen.as_ref() == Some(&stamp)
        {
            let (digest, seen) = (before.digest.clone(), before.seen.clone());
            return FileNow { digest, seen };
        }
        self.read_again = true;
        let digest = digest::of(path, by, &stamp, self.disk);
        // What was written while it was read is looked at again next time.
        let same = self.disk.stamp(path).as_ref() == Some(&stamp);
        let seen = same.then_some(stamp).and_then(|stamp| self.trusted(stamp));
        FileNow { digest, seen }
    }

    /// Tells whether nothing was at `path`, and nothing has come into its directory since.
    fn still_absent(&mut self, path: &str) -> bool {
        if self.known.contains(path) {
            return false;
        }
        above(path).is_some_and(|above| self.settled(above))
    }

    /// Tells whether no name came or went in the directory at `path`, or in the nearest one above it.
    fn settled(&mut self, path: &str) -> bool {
        if let Some(known) = self.settled.get(path) {
            return *known;
        }
        let settled = match self.directory(path) {
            Some(same) => same,
            None => above(path).is_some_and(|above| self.settled(above)),
        };
        self.settled.insert(path.to_owned(), settled);
        settled
    }

    /// Tells whether no name came or went in a directory; `None`: there is none.
    fn directory(&mut self, path: &str) -> Option<bool> {
        if !self.directories.contains_key(path) {
            let stamp = self.disk.stamp(path);
            let stamp = stamp.filter(|stamp| stamp.kind == Kind::Directory)?;
            let trusted = self.trusted(stamp);
            self.directories.insert(path.to_owned(), trusted);
        }
        let now = self.directories.get(path)?;
        let before = self.before.directories.get(path);
        let same = now.is_some() && before == Some(now);
        self.read_again |= !same && now.is_some();
        Some(same)
    }

    /// Lists a protected directory; from memory where no name came or went.
    fn names(&mut self, path: &str, stamp: &Stamp) -> Vec<String> {
        let trusted = self.trusted(stamp.clone());
        self.directories.insert(path.to_owned(), trusted.clone());
        let before = self.before.directories.get(path);
        if trusted.is_some() && before == Some(&trusted) {
            return self.names_before(path);
        }
        self.read_again |= trusted.is_some();
        self.disk.names(path, ENTRIES_MAX)
    }

    fn names_before(&self, path: &str) -> Vec<String> {
        let below = format!("{path}/");
        let first = |known: &str| {
            let rest = known.strip_prefix(&below)?;
            rest.split('/').next().map(str::to_owned)
        };
        let files = self.before.files.range(below.clone()..);
        let directories = self.before.directories.range(below.clone()..);
        let names: BTreeSet<String> = files
            .map_while(|(known, _)| first(known))
            .chain(directories.map_while(|(known, _)| first(known)))
            .collect();
        names.into_iter().collect()
    }

    fn trusted(&self, stamp: Stamp) -> Trusted {
        is_older(&stamp, self.young_ns).then_some(stamp)
    }

    fn changes(
        &self,
        accepted: &BTreeMap<String, Option<String>>,
        things: &[ProtectedPath],
    ) -> Vec<ProtectedChange> {
        let paths: BTreeSet<&String> = self.before.files.keys().chain(self.files.keys()).collect();
        paths
            .into_iter()
            .filter_map(|path| self.change(path, accepted))
            .map(|mut change| {
                let thing = things
                    .iter()
                    .find(|thing| is_within(&change.path, &thing.path));
                change.what = thing.map_or("protected", |thing| thing.what).to_owned();
                change
            })
            .collect()
    }

    fn change(
        &self,
        path: &str,
        accepted: &BTreeMap<String, Option<String>>,
    ) -> Option<ProtectedChange> {
        let file = self.files.get(path);
        let now = file.and_then(|file| file.digest.clone());
        let known = self.before.files.get(path);
        let before = known.and_then(|before| before.digest.clone());
        if now == before || accepted.get(path) == Some(&now) {
            return None;
        }
        let fate = match (known, file) {
            (None, _) => ProtectedFate::Appeared,
            (_, None) => ProtectedFate::Vanished,
            _ => ProtectedFate::Changed,
        };
        Some(ProtectedChange {
            path: path.to_owned(),
            what: String::new(),
            fate,
            digest: now,
            undone: false,
        })
    }

    fn now(self) -> Baseline {
        let files = self.files.into_iter().map(|(path, file)| {
            let FileNow { digest, seen } = file;
            (path, FileBefore { digest, seen })
        });
        Baseline {
            files: files.collect(),
            directories: self.directories,
        }
    }

    /// Returns the baseline with the stamps of what is as it was.
    ///
    /// What holds something else keeps its old stamp and is read each time; a
    /// file that came and goes unmentioned is as good as absent.
    fn renewed(&self, baseline: &Baseline) -> Baseline {
        let mut renewed = baseline.clone();
        for (path, now) in &self.files {
            let before = renewed.files.get_mut(path);
            match before {
                Some(before) if before.digest == now.digest => before.seen.clone_from(&now.seen),
                Some(_) => {}
                None if now.digest.is_none() => {
                    let (digest, seen) = (None, now.seen.clone());
                    renewed
                        .files
                        .insert(path.clone(), FileBefore { digest, seen });
                }
                None => {}
            }
        }
        // A directory with something new in it is listed again each time.
        let unknown = |directory: &str| {
            let new = self
                .files
                .keys()
                .filter(|path| !renewed.files.contains_key(*path));
            let mut new = new.filter_map(|path| path.strip_prefix(directory));
            new.any(|rest| rest.starts_with('/') || directory == "/")
        };
        let directories: BTreeMap<String, Trusted> = self
            .directories
            .iter()
            .map(|(path, stamp)| (path.clone(), stamp.clone().filter(|_| !unknown(path))))
            .collect();
        renewed.directories = directories;
        renewed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_counts_in_seconds_shows_a_change_later() {
        let changed_ns = |changed: i64| Stamp {
            kind: Kind::File,
            link: None,
            numbers: [0; 4],
            times: [0, changed],
        };
        assert!(is_older(
            &changed_ns(1_000_123_456_789),
            young_ns(1_000_500)
        ));
        assert!(!is_older(
            &changed_ns(1_000_000_000_000),
            young_ns(1_002_000)
        ));
        assert!(is_older(
            &changed_ns(1_000_000_000_000),
            young_ns(1_002_500)
        ));
    }
}
