//! The list of runs, with an index that avoids opening each database.
//!
//! The index is only a cache: it is rebuilt from the run databases if it is missing, damaged or older than they are.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::names::RunId;
use interlock_view::report::{state_paths, status};
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    joined::JoinedRun,
    listed::{Listed, RunCard, RunSummary, Which},
    log::EventLog as _,
    run_store::RunStore as _,
    sqlite_run::FILE_NAME,
    state_directory::StateDirectory,
};

/// The state of a database's files when it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    database: (u64, i64, i64),
    log: (u64, i64, i64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// State of the files; `None`: only the immutable parts of the card are valid.
    look: Option<Look>,
    card: RunCard,
}

impl Entry {
    fn is_of_none(&self, projects: &[&Path]) -> bool {
        !projects.contains(&self.card.project_root.as_path())
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Index(BTreeMap<RunId, Entry>);

impl Versioned for Index {
    const VERSION: i64 = 2;
    const BYTES_MAX: u64 = 64 * 1024 * 1024;
}

impl Index {
    /// Reads the index; an index that cannot be read is rebuilt from the runs.
    fn read(root: &Path) -> Self {
        let found = files::read(&root.join(INDEX)).ok().flatten();
        found.unwrap_or_default()
    }

    /// Writes the index if it differs from `before`; a list can be returned even if this fails.
    fn write(&self, root: &Path, before: &Self) {
        if self != before {
            let _ = files::write(&root.join(INDEX), self, Sync::Later);
        }
    }
}

/// A list of all runs for repeated use, with its index in memory.
#[derive(Debug, Default)]
pub struct RunList(Option<Index>);

impl RunList {
    /// Lists runs of a state directory.
    pub(crate) fn list(
        &mut self,
        directory: &StateDirectory,
        which: Which<'_>,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let Some(root) = directory.existing()? else {
            return Ok(Vec::new());
        };
        let before = self.0.take().unwrap_or_else(|| Index::read(&root));
        let (runs, after) = directory.listed_after(&root, &before, which)?;
        after.write(&root, &before);
        self.0 = Some(after);
        Ok(runs)
    }
}

/// Name of the index file.
const INDEX: &str = "index.json";

/// Seconds within which a file may change again without a visible difference.
const SETTLED_SECONDS: i64 = 2;

impl StateDirectory {
    /// Lists runs, given the index `before`, and returns the new index.
    fn listed_after(
        &self,
        root: &Path,
        before: &Index,
        Which { projects, wanted }: Which<'_>,
    ) -> Result<(Vec<RunSummary>, Index), StoreError> {
        let mut after = Index::default();
        let mut runs = Vec::new();
        for id in self.run_ids()? {
            let known = before.0.get(&id).cloned();
            if !wanted(&id) {
                after.0.extend(known.map(|entry| (id, entry)));
                continue;
            }
            if let Ok(Some(joined)) = self.joined(&id) {
                let is_of = |projects: &[&Path]| projects.contains(&joined.project_root.as_path());
                if projects.is_none_or(is_of) {
                    let listed = match self.joined_card(&id, joined) {
                        Ok(card) => Listed::Known(card),
                        Err(error) => Listed::Unreachable {
                            why: error.to_string(),
                        },
                    };
                    runs.push(RunSummary { id, listed });
                }
                continue;
            }
            if let Some(projects) = projects {
                let known = known.or_else(|| self.pinned(&id).ok());
                if let Some(entry) = known.filter(|entry| entry.is_of_none(projects)) {
                    after.0.insert(id, entry);
                    continue;
                }
            }
            let (listed, entry) = self.summarise(root, &id, before.0.get(&id));
            after.0.extend(entry.map(|entry| (id.clone(), entry)));
            runs.push(RunSummary { id, listed });
        }
        Ok((runs, after))
    }

    fn summarise(
        &self,
        root: &Path,
        run: &RunId,
        known: Option<&Entry>,
    ) -> (Listed, Option<Entry>) {
        let look = Self::run_directory(root, run).and_then(|directory| Look::at(&directory));
        if let (Ok(look), Some(known)) = (&look, known)
            && known.look == Some(*look)
        {
            return (Listed::Known(known.card.clone()), Some(known.clone()));
        }
        match self.card(run) {
            Ok(card) => {
                let entry = Entry {
                    look: look.ok().filter(Look::is_settled),
                    card: card.clone(),
                };
                (Listed::Known(card), Some(entry))
            }
            Err(error) => {
                let why = error.to_string();
                (Listed::Damaged { why }, None)
            }
        }
    }

    fn card(&self, run: &RunId) -> Result<RunCard, StoreError> {
        let log = self.open_file(run)?;
        let pin = log.pin()?;
        let folded = log.load()?;
        let machine = log.machine()?;
        Ok(RunCard {
            status: status(&machine, &folded),
            state: state_paths(&machine, &folded).0,
            events: folded.seq,
            last_ms: log.last_ms()?.unwrap_or(pin.created_ms),
            ..RunCard::of(pin)
        })
    }

    /// Asks the server of a joined run.
    fn joined_card(&self, run: &RunId, joined: JoinedRun) -> Result<RunCard, StoreError> {
        let log = self
            .open_joined(run, &joined)?
            .ok_or_else(|| StoreError::MissingRun {
                run: run.clone(),
                path: joined.project_root.clone(),
            })?;
        let folded = log.load()?;
        let machine = log.machine_of(&folded)?;
        let at = |seq: u64| -> Result<u64, StoreError> {
            let event = log.events(seq).next().transpose()?;
            Ok(event.map_or(0, |event| event.at_ms))
        };
        Ok(RunCard {
            workflow: machine.id.clone(),
            name: log.name()?,
            project_root: joined.project_root,
            created_ms: at(0)?,
            last_ms: at(folded.seq.saturating_sub(1))?,
            status: status(&machine, &folded),
            state: state_paths(&machine, &folded).0,
            events: folded.seq,
        })
    }

    /// Reads the immutable parts of a run.
    fn pinned(&self, run: &RunId) -> Result<Entry, StoreError> {
        let pin = self.open_file(run)?.pin()?;
        Ok(Entry {
            look: None,
            card: RunCard::of(pin),
        })
    }
}

impl Look {
    fn at(directory: &Path) -> Result<Self, StoreError> {
        let of = |name: &str| {
            let path = directory.join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) => Ok((found.size(), found.mtime(), found.mtime_nsec())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((0, 0, 0)),
                Err(error) => Err(StoreError::io("read", &path, error)),
            }
        };
        Ok(Self {
            database: of(FILE_NAME)?,
            log: of(&format!("{FILE_NAME}-wal"))?,
        })
    }

    /// Returns whether a later change must be visible in the times of the files.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok())
            .unwrap_or_default();
        self.database.1.max(self.log.1) + SETTLED_SECONDS < now
    }
}
