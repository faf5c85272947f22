//! Records: small private files of one kind in their own directory, each with a key.
//!
//! Tickets, notes, credentials and others use this one mechanism. A record is written atomically and read strictly: one that
//! exists and cannot be read is an error; it is never treated as missing. Exactly one process can take a record, and a record
//! can expire.

use std::{
    fs::{self, File},
    io,
    marker::PhantomData,
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use crate::{
    chain::{ChainHash, hex},
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    id,
};

/// File name extension of records.
const END: &str = ".json";
/// File name extension of a record that is being taken.
const TAKEN: &str = "taken";
/// Maximum length of a key.
const KEY_MAX: usize = 200;
/// Name of the lock file of a directory of records.
const LOCK: &str = "records.lock";

/// One kind of record.
pub(crate) trait Record: Versioned {
    /// Directory of the files, below the state directory.
    const PLACE: &'static str;
    /// Whether a record survives power loss before the call returns.
    const SYNC: Sync = Sync::Later;
}

/// A kind of record that expires.
pub(crate) trait Expiring: Record {
    /// Lifetime of a record in milliseconds.
    const AGE_MAX_MS: u64;
    /// Number of records above which expired ones are removed.
    const KEPT_MAX: usize;

    /// Returns the time of creation, in milliseconds since 1970.
    fn at_ms(&self) -> u64;

    /// Returns whether the record is valid at `now_ms`.
    ///
    /// A record from the future is not, because the clock was set back and its age is unknown.
    fn counts(&self, now_ms: u64) -> bool {
        self.at_ms().abs_diff(now_ms) <= Self::AGE_MAX_MS
    }
}

/// The key of a record, which is its file name without the extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    /// Derives a key from its parts.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        Self(ChainHash::of_parts(parts).to_string())
    }

    /// Makes an unguessable key of 32 hexadecimal digits.
    pub(crate) fn random() -> Result<Self, StoreError> {
        Ok(Self(hex(&id::random::<16>()?)))
    }

    /// Uses a name as the key; `None`: it could lead out of the directory.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let fits = (1..=KEY_MAX).contains(&name.len()) && name.bytes().all(is_plain);
        fits.then(|| Self(name.to_owned()))
    }

    /// Returns the key as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The records of one kind.
#[derive(Debug)]
pub(crate) struct Records<'a, T> {
    home: &'a Home,
    below: Option<Key>,
    kind: PhantomData<T>,
}

impl Home {
    /// Returns the records of one kind.
    pub(crate) const fn records<T: Record>(&self) -> Records<'_, T> {
        Records {
            home: self,
            below: None,
            kind: PhantomData,
        }
    }

    /// Returns the records in a directory of their own below that of their kind.
    pub(crate) const fn records_below<T: Record>(&self, below: Key) -> Records<'_, T> {
        Records {
            home: self,
            below: Some(below),
            kind: PhantomData,
        }
    }
}

impl<T: Record> Records<'_, T> {
    /// Returns the directory; `None`: there is no state directory yet.
    fn directory(&self) -> Result<Option<PathBuf>, StoreError> {
        let root = self.home.existing()?;
        Ok(root.map(|root| self.below(root.join(T::PLACE))))
    }

    fn below(&self, place: PathBuf) -> PathBuf {
        match &self.below {
            Some(below) => place.join(&below.0),
            None => place,
        }
    }

    /// Returns the directory, and creates it if necessary.
    fn made(&self) -> Result<PathBuf, StoreError> {
        let directory = self.below(self.home.made_place(T::PLACE)?);
        if self.below.is_some() {
            files::make_directory(&directory)?;
        }
        Ok(directory)
    }

    /// Returns the path of a record, which may not exist, for messages.
    pub(crate) fn path(&self, key: &Key) -> Result<PathBuf, StoreError> {
        let root = self.home.existing()?;
        let root = root.unwrap_or_else(|| self.home.path().to_owned());
        Ok(self.below(root.join(T::PLACE)).join(file(key)))
    }

    /// Reads a record; returns `None` only if it does not exist.
    pub(crate) fn get(&self, key: &Key) -> Result<Option<T>, StoreError> {
        match self.directory()? {
            Some(directory) => files::read(&directory.join(file(key))),
            None => Ok(None),
        }
    }

    /// Writes a record, and replaces any with the same key.
    pub(crate) fn put(&self, key: &Key, record: &T) -> Result<(), StoreError> {
        files::write(&self.made()?.join(file(key)), record, T::SYNC)
    }

    /// Writes a record unless one with its key exists; `false`: one does.
    pub(crate) fn create(&self, key: &Key, record: &T) -> Result<bool, StoreError> {
        files::create(&self.made()?.join(file(key)), record, T::SYNC)
    }

    /// Removes a record; `false` if it did not exist.
    pub(crate) fn remove(&self, key: &Key) -> Result<bool, StoreError> {
        match self.directory()? {
            Some(directory) => files::remove(&directory.join(file(key))),
            None => Ok(false),
        }
    }

    /// Takes a record, so that no other process can get it; `None`: there is none.
    ///
    /// A record that cannot be read is removed, too.
    pub(crate) fn take(&self, key: &Key) -> Result<Option<T>, StoreError> {
        let Some(directory) = self.directory()? else {
            return Ok(None);
        };
        let path = directory.join(file(key));
        let taken = path.with_extension(TAKEN);
        // Whoever renames it has it.
        match fs::rename(&path, &taken) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("take", &path, error)),
        }
        let read = files::read(&taken);
        files::remove(&taken)?;
        read
    }

    /// Lists the keys, sorted.
    pub(crate) fn keys(&self) -> Result<Vec<Key>, StoreError> {
        let Some(directory) = self.directory()? else {
            return Ok(Vec::new());
        };
        let names = files::names(&directory)?;
        let keys = names.iter().filter_map(|name| name.strip_suffix(END));
        Ok(keys.map(|name| Key(name.to_owned())).collect())
    }

    /// Removes the records for which `goes` is true; returns their number.
    ///
    /// A record that cannot be read is an error.
    pub(crate) fn remove_where(&self, goes: impl Fn(&T) -> bool) -> Result<usize, StoreError> {
        let mut removed = 0;
        for key in self.keys()? {
            if self.get(&key)?.is_some_and(|record| goes(&record)) && self.remove(&key)? {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Like [`Self::remove_where`], but leaves records alone that cannot be read.
    pub(crate) fn remove_known_where(
        &self,
        goes: impl Fn(&T) -> bool,
    ) -> Result<usize, StoreError> {
        let mut removed = 0;
        for key in self.keys()? {
            let known = self.get(&key).ok().flatten();
            if known.is_some_and(|record| goes(&record)) && self.remove(&key)? {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Removes the directory if it contains no record.
    pub(crate) fn remove_empty(&self) -> Result<(), StoreError> {
        // What is not empty stays, by the system's own rule.
        let _ = self.directory()?.map(fs::remove_dir);
        Ok(())
    }

    /// Locks the records of this kind against other processes, until dropped.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        // One for all of a kind: it is held for a moment, and never removed.
        files::lock(&self.made()?.join(LOCK))
    }
}

impl<T: Expiring> Records<'_, T> {
    /// Removes expired records if there are many records.
    pub(crate) fn make_room(&self, now_ms: u64) -> Result<(), StoreError> {
        if self.keys()?.len() >= T::KEPT_MAX {
            self.remove_old(now_ms)?;
        }
        Ok(())
    }

    /// Removes expired records. For a record that cannot be read, the time of its file counts.
    pub(crate) fn remove_old(&self, now_ms: u64) -> Result<(), StoreError> {
        let Some(directory) = self.directory()? else {
            return Ok(());
        };
        for name in files::names(&directory)? {
            let path = directory.join(&name);
            let known = name.ends_with(END).then(|| files::read::<T>(&path));
            let is_old = match known {
                Some(Ok(Some(record))) => !record.counts(now_ms),
                _ if name == LOCK => false,
                _ => written_ms(&path).is_some_and(|at| at.abs_diff(now_ms) > T::AGE_MAX_MS),
            };
            if is_old {
                files::remove(&path)?;
            }
        }
        Ok(())
    }
}

fn file(key: &Key) -> String {
    format!("{}{END}", key.0)
}

/// Returns when a file was last written, in milliseconds since 1970.
fn written_ms(path: &std::path::Path) -> Option<u64> {
    let at = fs::symlink_metadata(path).and_then(|data| data.modified());
    let since: Duration = at.ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const DAY_MS: u64 = 86_400_000;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Pass {
        at_ms: u64,
    }

    impl Versioned for Pass {
        const VERSION: i64 = 1;
        const BYTES_MAX: u64 = 1_024;
    }

    impl Record for Pass {
        const PLACE: &'static str = "passes";
    }

    impl Expiring for Pass {
        const AGE_MAX_MS: u64 = DAY_MS;
        const KEPT_MAX: usize = 3;

        fn at_ms(&self) -> u64 {
            self.at_ms
        }
    }

    fn home() -> (tempfile::TempDir, Home) {
        let room = tempfile::tempdir().unwrap();
        let home = Home::at(room.path().join("state"));
        (room, home)
    }

    fn key(name: &str) -> Key {
        Key::named(name).unwrap()
    }

    #[test]
    fn a_record_is_its_owner_s_alone_and_nothing_is_made_by_looking() {
        let (_room, home) = home();
        let passes = home.records::<Pass>();
        assert_eq!(passes.get(&key("a")).unwrap(), None);
        assert_eq!(passes.take(&key("a")).unwrap(), None);
        assert!(!passes.remove(&key("a")).unwrap());
        assert!(!home.path().exists());
        passes.put(&key("a"), &Pass { at_ms: 1 }).unwrap();
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = passes.path(&key("a")).unwrap();
        assert_eq!(mode(path.clone()), 0o600);
        assert_eq!(mode(path.parent().unwrap().to_owned()), 0o700);
        assert!(!passes.create(&key("a"), &Pass { at_ms: 2 }).unwrap());
        assert_eq!(passes.get(&key("a")).unwrap(), Some(Pass { at_ms: 1 }));
    }

    #[test]
    fn of_many_that_take_a_record_one_has_it() {
        let (_room, home) = home();
        for round in 0..20 {
            home.records()
                .put(&key("a"), &Pass { at_ms: round })
                .unwrap();
            let taken: Vec<_> = std::thread::scope(|scope| {
                let take = || home.records::<Pass>().take(&key("a")).unwrap();
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
                let results = threads.into_iter().map(|thread| thread.join().unwrap());
                results.flatten().collect()
            });
            assert_eq!(taken, [Pass { at_ms: round }]);
        }
        assert!(home.records::<Pass>().keys().unwrap().is_empty());
    }

    #[test]
    fn one_that_cannot_be_read_is_an_error_and_used_up_when_it_is_taken() {
        let (_room, home) = home();
        let passes = home.records::<Pass>();
        passes.put(&key("a"), &Pass { at_ms: 1 }).unwrap();
        fs::write(passes.path(&key("a")).unwrap(), "{").unwrap();
        assert!(passes.get(&key("a")).is_err());
        assert!(passes.remove_where(|_| true).is_err());
        assert_eq!(passes.remove_known_where(|_| true).unwrap(), 0);
        assert!(passes.take(&key("a")).is_err());
        assert_eq!(passes.take(&key("a")).unwrap(), None);
    }

    #[test]
    fn old_ones_go_when_there_are_many() {
        let (_room, home) = home();
        let passes = home.records::<Pass>();
        let now = 10 * DAY_MS;
        for (name, at_ms) in [("old", now - DAY_MS - 1), ("new", now - DAY_MS)] {
            passes.put(&key(name), &Pass { at_ms }).unwrap();
        }
        passes.make_room(now).unwrap();
        assert_eq!(passes.keys().unwrap().len(), 2);
        let later = Pass {
            at_ms: now + DAY_MS + 1,
        };
        assert!(!later.counts(now), "of a clock that was set back");
        passes.put(&key("later"), &later).unwrap();
        passes.make_room(now).unwrap();
        assert_eq!(passes.keys().unwrap(), [key("new")]);
    }

    #[test]
    fn one_that_cannot_be_read_is_as_old_as_its_file() {
        let (_room, home) = home();
        let passes = home.records::<Pass>();
        passes.put(&key("a"), &Pass { at_ms: 1 }).unwrap();
        let path = passes.path(&key("a")).unwrap();
        fs::write(&path, "{").unwrap();
        let written = 5 * DAY_MS;
        let at = UNIX_EPOCH + Duration::from_millis(written);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(at).unwrap();
        passes.lock().unwrap().set_modified(at).unwrap();
        for (now, stays) in [(written + DAY_MS, true), (written + DAY_MS + 1, false)] {
            passes.remove_old(now).unwrap();
            assert_eq!(path.exists(), stays, "{now}");
        }
        assert!(
            path.with_file_name(LOCK).exists(),
            "the lock is never removed"
        );
    }

    #[test]
    fn a_directory_goes_with_its_last_record() {
        let (_room, home) = home();
        let passes = home.records::<Pass>();
        passes.put(&key("a"), &Pass { at_ms: 1 }).unwrap();
        let path = passes.path(&key("a")).unwrap();
        let directory = path.parent().unwrap();
        passes.remove_empty().unwrap();
        assert!(path.exists());
        assert!(passes.remove(&key("a")).unwrap());
        passes.remove_empty().unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn a_key_does_not_lead_out_of_the_directory() {
        for bad in ["", "..", "../a", "a/b", "a.b", "A", "a b", &"a".repeat(201)] {
            assert_eq!(Key::named(bad), None, "{bad}");
        }
    }
}
