//! Directories in which no name was added or removed, so that missing files need not be searched again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::tree::Stamp;
use crate::links::Links;

/// Age in nanoseconds below which a stamp proves nothing: a directory may change twice within one tick of the clock.
const YOUNG_NS: i128 = 100_000_000;
/// The same where times have a resolution of milliseconds or worse: FAT has steps of two seconds.
const YOUNG_COARSE_NS: i128 = 2_100_000_000;

/// Nearest existing ancestor of each missing file, with its stamp before the command.
#[derive(Debug)]
pub(super) struct Nearest {
    /// Time of the examination, before the command.
    now: SystemTime,
    /// `None` if the stamp is too recent, or there is none.
    stamps: BTreeMap<PathBuf, Option<Stamp>>,
}

impl Nearest {
    /// Begins an examination at the time `now`.
    pub(super) fn at(now: SystemTime) -> Self {
        Self {
            now,
            stamps: BTreeMap::new(),
        }
    }

    /// Records the nearest existing ancestor of the missing `path`, and returns it.
    pub(super) fn above(&mut self, path: &Path, links: &Links) -> Option<PathBuf> {
        let nearest = path
            .ancestors()
            .skip(1)
            .find_map(|above| links.real(above))?;
        if !self.stamps.contains_key(&nearest) {
            let stamp = stamp(&nearest).filter(|stamp| is_older(stamp, self.now));
            self.stamps.insert(nearest.clone(), stamp);
        }
        Some(nearest)
    }

    /// Returns the directories in which no name was added or removed since.
    pub(super) fn settled(&self) -> BTreeSet<&Path> {
        let same = |(path, before): &(&PathBuf, &Option<Stamp>)| {
            before.is_some() && stamp(path) == **before
        };
        let all = self.stamps.iter().filter(same);
        all.map(|(path, _)| path.as_path()).collect()
    }
}

fn stamp(directory: &Path) -> Option<Stamp> {
    let about = fs::symlink_metadata(directory).ok()?;
    about.is_dir().then(|| Stamp::of(&about))
}

/// Returns whether a stamp is old enough at `now` to show every later change.
fn is_older(stamp: &Stamp, now: SystemTime) -> bool {
    let (seconds, rest) = stamp.changed;
    let changed = i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let young = if rest % 1_000_000 == 0 {
        YOUNG_COARSE_NS
    } else {
        YOUNG_NS
    };
    now.duration_since(UNIX_EPOCH).is_ok_and(|now| {
        let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MIN);
        changed < now.saturating_sub(young)
    })
}

#[cfg(test)]
mod tests {
    use std::{error::Error, time::Duration};

    use super::*;

    #[test]
    fn a_clock_that_counts_in_seconds_shows_a_change_later() -> Result<(), Box<dyn Error>> {
        let stamp = Stamp::of(&fs::metadata("/")?);
        let at = |rest: i64| Stamp {
            changed: (1_000, rest),
            ..stamp
        };
        let seconds = |seconds: f64| UNIX_EPOCH + Duration::from_secs_f64(seconds);
        assert!(is_older(&at(123_456_789), seconds(1_000.5)));
        assert!(!is_older(&at(0), seconds(1_002.0)));
        assert!(is_older(&at(0), seconds(1_002.5)));
        Ok(())
    }

    #[test]
    fn a_directory_in_which_something_came_or_that_has_just_changed_is_not_settled()
    -> Result<(), Box<dyn Error>> {
        let room = tempfile::tempdir()?;
        let room = room.path().canonicalize()?;
        let absent = room.join("not/there");
        let links = Links::default();
        let made = fs::metadata(&room)?.modified()?;
        let mut young = Nearest::at(made);
        assert_eq!(young.above(&absent, &links), Some(room.clone()));
        assert!(young.settled().is_empty(), "it may change unseen");

        let mut old = Nearest::at(made + Duration::from_secs(3600));
        old.above(&absent, &links);
        assert!(old.settled().contains(room.as_path()));
        // Within one tick of the clock a stamp does not change.
        for round in 0.. {
            fs::write(room.join(round.to_string()), "")?;
            if stamp(&room) != old.stamps.get(&room).copied().flatten() {
                break;
            }
        }
        assert!(old.settled().is_empty());
        Ok(())
    }
}
