//! Records of how far each run has been exported to tracing systems.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use interlock_core::names::{CallId, RunId};
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

/// Maximum size of a `traceparent` in bytes; today's have 55.
const PARENT_BYTES_MAX: usize = 256;
/// Maximum size in bytes of the parent spans of one run's calls.
const PARENTS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How far the log of a run has been exported, and its parent trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetryMark {
    /// Number of exported events.
    pub events: u64,
    /// Parent trace of the run, as a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// The parent span of a call.
#[derive(Debug, Serialize, Deserialize)]
struct CallParent {
    call: CallId,
    parent: String,
}

impl Versioned for TelemetryMark {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Home {
    /// Returns how far the log of `run` has been exported.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn told(&self, run: &RunId) -> Result<TelemetryMark, StoreError> {
        match self.told_path(run)? {
            Some(path) => Ok(files::read(&path)?.unwrap_or_default()),
            None => Ok(TelemetryMark::default()),
        }
    }

    /// Stores how far the log of `run` has been exported.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_told(&self, run: &RunId, told: &TelemetryMark) -> Result<(), StoreError> {
        match self.told_path(run)? {
            Some(path) => files::write(&path, told, Sync::Later),
            None => Ok(()),
        }
    }

    /// Stores the parent trace of `run`; text that is too long is ignored.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn keep_trace_parent(&self, run: &RunId, parent: &str) -> Result<(), StoreError> {
        if parent.len() > PARENT_BYTES_MAX {
            return Ok(());
        }
        let told = TelemetryMark {
            parent: Some(parent.to_owned()),
            ..self.told(run)?
        };
        self.keep_told(run, &told)
    }

    /// Stores the parent span of a call of `run`, as a `traceparent`.
    ///
    /// Invalid text is ignored, and so are further spans once a great many are stored.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_call_parent(
        &self,
        run: &RunId,
        call: &CallId,
        parent: &str,
    ) -> Result<(), StoreError> {
        let Some(path) = self.parents_path(run)? else {
            return Ok(());
        };
        let line = serde_json::to_string(&CallParent {
            call: call.clone(),
            parent: parent.to_owned(),
        });
        let fits = parent.len() <= PARENT_BYTES_MAX && call.as_str().len() <= PARENT_BYTES_MAX;
        let Some(line) = line.ok().filter(|_| fits) else {
            return Ok(());
        };
        let failed = |error| StoreError::io("write", &path, error);
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() > PARENTS_BYTES_MAX {
            return Ok(());
        }
        // In one piece: others may be writing, too.
        file.write_all(format!("{line}\n").as_bytes())
            .map_err(failed)
    }

    /// Returns the parent spans of calls of `run`; unreadable lines are skipped.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn call_parents(&self, run: &RunId) -> Result<BTreeMap<CallId, String>, StoreError> {
        let Some(path) = self.parents_path(run)?.filter(|path| path.exists()) else {
            return Ok(BTreeMap::new());
        };
        let failed = |error| StoreError::io("read", &path, error);
        let text = std::fs::read(&path).map_err(failed)?;
        let lines = text.split(|byte| *byte == b'\n');
        let read = lines.filter_map(|line| serde_json::from_slice::<CallParent>(line).ok());
        Ok(read.map(|kept| (kept.call, kept.parent)).collect())
    }

    fn parents_path(&self, run: &RunId) -> Result<Option<PathBuf>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        Ok(Some(Self::run_directory(&root, run)?.join("parents.jsonl")))
    }

    /// Takes the lock for exporting; `None`: another process has it.
    ///
    /// # Errors
    /// The lock cannot be checked.
    pub fn lock_telling(&self) -> Result<Option<File>, StoreError> {
        let path = self.made()?.join("telemetry.lock");
        let failed = |error| StoreError::io("lock", &path, error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    fn told_path(&self, run: &RunId) -> Result<Option<PathBuf>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        Ok(Some(Self::run_directory(&root, run)?.join("told.json")))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn one_process_exports_at_a_time() {
        let room = tempfile::tempdir().unwrap();
        let home = Home::at(room.path().join("state"));
        let held = home.lock_telling().unwrap();
        assert!(held.is_some());
        assert!(home.lock_telling().unwrap().is_none());
        drop(held);
        assert!(home.lock_telling().unwrap().is_some());
    }

    #[test]
    fn a_parent_too_long_is_left_out_and_the_rest_stays() {
        let room = tempfile::tempdir().unwrap();
        let home = Home::at(room.path().join("state"));
        let run = crate::id::run_id(1_700_000_000_000).unwrap();
        let call = CallId::new("c1");
        // Without a state directory, nothing is kept, and nothing is made.
        home.keep_trace_parent(&run, "early").unwrap();
        home.keep_call_parent(&run, &call, "early").unwrap();
        assert_eq!(home.told(&run).unwrap(), TelemetryMark::default());
        assert!(home.call_parents(&run).unwrap().is_empty());
        assert!(!room.path().join("state").exists());

        let root = home.made().unwrap();
        std::fs::create_dir_all(Home::run_directory(&root, &run).unwrap()).unwrap();
        let longest = "p".repeat(PARENT_BYTES_MAX);
        let told = TelemetryMark {
            events: 3,
            parent: None,
        };
        home.keep_told(&run, &told).unwrap();
        home.keep_trace_parent(&run, &longest).unwrap();
        home.keep_trace_parent(&run, &format!("{longest}p"))
            .unwrap();
        let told = home.told(&run).unwrap();
        assert_eq!((told.events, told.parent), (3, Some(longest.clone())));
        home.keep_call_parent(&run, &call, &longest).unwrap();
        let other = CallId::new("c2");
        home.keep_call_parent(&run, &other, &format!("{longest}p"))
            .unwrap();
        let long = CallId::new(format!("{longest}c"));
        home.keep_call_parent(&run, &long, "p").unwrap();
        let parents = home.call_parents(&run).unwrap();
        assert_eq!(parents, BTreeMap::from([(call, longest)]));
    }
}
