//! Compares protected files with their state when a run began.
//!
//! File timestamps come first, since they are checked at every call; the contents of a file are read only if its stamp differs. A
//! stamp as recent as the comparison itself proves nothing: a file may change twice within one tick of the clock.

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

/// Maximum number of files and directories examined of one protected path; beyond it the rest is skipped.
const ENTRIES_MAX: usize = 500;
/// Maximum depth to which a directory is examined.
const DEPTH_MAX: usize = 6;
/// Age in nanoseconds below which a stamp is too recent to be trusted.
const YOUNG_NS: i64 = 100_000_000;
/// The same where times have a resolution of milliseconds or worse: FAT has steps of two seconds.
const YOUNG_COARSE_NS: i64 = 2_100_000_000;

/// State of a run's protected files when it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Files with contents that are compared.
    files: BTreeMap<String, FileBefore>,
    /// Directories, including those in which something could appear.
    directories: BTreeMap<String, Trusted>,
}

/// Earlier state of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBefore {
    /// Digest of what is compared; `None` if the file contains nothing of that.
    digest: Option<String>,
    /// Stamp when it was last seen with these contents.
    seen: Trusted,
}

/// A stamp that can be trusted, if there is one.
type Trusted = Option<Stamp>;

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What has changed, sorted by path.
    pub changes: Vec<ProtectedChange>,
    /// The same baseline with newer stamps, if storing it saves reading next time.
    pub renewed: Option<Baseline>,
}

impl Baseline {
    /// Records the present state of everything protected.
    #[must_use]
    pub fn take(context: &CallContext, disk: &dyn Disk, at_ms: u64) -> Self {
        let empty = Self::default();
        let mut look = Look::new(&empty, disk, at_ms);
        look.at_all(&places(context, disk));
        look.now()
    }

    /// Compares everything protected with this baseline; what a person has `accepted` counts as unchanged.
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

    /// Compares for a caller that will do so again: also returns what shows next time that nothing changed.
    ///
    /// Returns `None` if something changed, or if stamps alone do not show it.
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

/// Present state of a file.
struct FileNow {
    digest: Option<String>,
    seen: Trusted,
}

/// One pass over everything protected.
struct Look<'a> {
    before: &'a Baseline,
    /// Every path in the baseline.
    known: HashSet<&'a str>,
    disk: &'a dyn Disk,
    /// Stamps that are not older prove nothing.
    young_ns: i64,
    files: BTreeMap<String, FileNow>,
    directories: BTreeMap<String, Trusted>,
    /// By path, whether no name was added or removed in its nearest existing directory.
    settled: HashMap<String, bool>,
    /// Whether anything was read or listed that need not be next time.
    read_again: bool,
    left: usize,
}

/// Returns the time in nanoseconds since 1970 from which on a stamp is too recent.
fn young_ns(at_ms: u64) -> i64 {
    i64::try_from(at_ms)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000_000)
        .saturating_sub(YOUNG_NS)
}

/// Returns whether a stamp is old enough to show every later change.
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

/// Returns the parent of `path`; `None` for the root itself.
fn above(path: &str) -> Option<&str> {
    let (above, name) = path.rsplit_once('/')?;
    match (above, name) {
        ("", "") => None,
        ("", _) => Some("/"),
        (above, _) => Some(above),
    }
}

/// Directories that a client itself fills, at its first start and after each update.
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
        // Samples that come with every repository; git does not run them under this name.
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
        // A file that was written while it was read is examined again next time.
        let same = self.disk.stamp(path).as_ref() == Some(&stamp);
        let seen = same.then_some(stamp).and_then(|stamp| self.trusted(stamp));
        FileNow { digest, seen }
    }

    /// Returns whether nothing was at `path`, and nothing was added to its directory since.
    fn still_absent(&mut self, path: &str) -> bool {
        if self.known.contains(path) {
            return false;
        }
        above(path).is_some_and(|above| self.settled(above))
    }

    /// Returns whether no name was added or removed in the directory at `path`, or in its nearest existing ancestor.
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

    /// Returns whether no name was added or removed in a directory; `None` if there is none.
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

    /// Lists a protected directory; from memory if no name was added or removed.
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

    /// Returns the baseline with the stamps of unchanged files.
    ///
    /// A changed file keeps its old stamp and is read each time; a file that appeared and was removed unnoticed counts as absent.
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
        // A directory with a new entry is listed again each time.
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

    #[test]
    fn a_file_that_has_just_changed_may_change_again_within_one_tick() {
        let at = |changed: i64| Stamp {
            kind: Kind::File,
            link: None,
            numbers: [0; 4],
            times: [0, changed],
        };
        for (changed, shows) in [
            (1_000_499_999_999, false),
            (1_000_400_000_001, false),
            (1_000_399_999_999, true),
        ] {
            assert_eq!(
                is_older(&at(changed), young_ns(1_000_500)),
                shows,
                "{changed}"
            );
        }
    }
}
