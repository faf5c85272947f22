//! The list of runs, with an index that spares opening each database.
//!
//! The index is never the truth: it is rebuilt from the run databases wherever
//! it is missing, damaged or older than they are.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::names::{MachineId, RunId};
use interlock_view::report::{Status, state_paths, status};
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
    log::EventLog as _,
    pin::Pin,
    runs::{RunStore as _, Runs as _, Which},
    sqlite_run::FILE_NAME,
    state_directory::StateDirectory,
};

/// One run in the list of all.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// What is known of it.
    pub listed: Listed,
}

/// What the list knows of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// It could be read.
    Known(RunCard),
    /// It could not.
    Damaged {
        /// Why, with what to do.
        why: String,
    },
}

/// What the list says of a run that could be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCard {
    /// The machine it follows.
    pub workflow: MachineId,
    /// What people call it.
    pub name: Option<String>,
    /// The project it belongs to.
    pub project_root: PathBuf,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When its last event was recorded, in milliseconds since 1970.
    pub last_ms: u64,
    /// Whether it goes on, and if not, why.
    pub status: Status,
    /// The path of every open state.
    pub state: Vec<String>,
    /// How many events it has.
    pub events: u64,
}

impl RunSummary {
    /// Tells whether the run is known to belong to `project_root`.
    #[must_use]
    pub fn is_of(&self, project_root: &Path) -> bool {
        matches!(&self.listed, Listed::Known(card) if card.project_root == project_root)
    }

    /// Returns what people call the run.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.listed {
            Listed::Known(card) => card.name.as_deref(),
            Listed::Damaged { .. } => None,
        }
    }

    /// Returns what tells it from others of its name: `WORKFLOW/NAME`.
    pub(crate) fn full_name(&self) -> Option<String> {
        match &self.listed {
            Listed::Known(card) => {
                let name = card.name.as_deref()?;
                Some(format!("{}/{name}", card.workflow))
            }
            Listed::Damaged { .. } => None,
        }
    }

    /// Tells whether the run is known to be called `wanted`: its name, or `WORKFLOW/NAME`.
    #[must_use]
    pub fn is_called(&self, wanted: &str) -> bool {
        let Listed::Known(card) = &self.listed else {
            return false;
        };
        let Some(name) = card.name.as_deref() else {
            return false;
        };
        let in_workflow = wanted
            .rsplit_once('/')
            .is_some_and(|(workflow, rest)| rest == name && workflow == card.workflow.as_str());
        name == wanted || in_workflow
    }
}

impl RunCard {
    /// Makes that of a run of which nothing but its pin is known.
    fn of(pin: Pin) -> Self {
        Self {
            workflow: MachineId::new(pin.workflow),
            name: pin.name,
            project_root: PathBuf::from(pin.project_root),
            created_ms: pin.created_ms,
            last_ms: pin.created_ms,
            status: Status::Running,
            state: Vec::new(),
            events: 0,
        }
    }

    /// Tells whether the run has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(
            self.status,
            Status::Completed | Status::Failed | Status::Cancelled
        )
    }
}

/// What a database looked like from outside when it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    database: (u64, i64, i64),
    log: (u64, i64, i64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// `None`: of the card, only what never changes is to be believed.
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
    /// Reads it; whatever is wrong with it, the runs are the truth.
    fn read(root: &Path) -> Self {
        let found = files::read(&root.join(INDEX)).ok().flatten();
        found.unwrap_or_default()
    }

    /// Writes it where it is not what it was `before`; a list can be shown without having been remembered.
    fn write(&self, root: &Path, before: &Self) {
        if self != before {
            let _ = files::write(&root.join(INDEX), self, Sync::Later);
        }
    }
}

/// A list of all runs that is looked at again and again, with its index in memory.
#[derive(Debug, Default)]
pub struct RunList(Option<Index>);

impl RunList {
    /// Lists all runs, as [`Home::list_runs`] does.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&mut self, home: &Home) -> Result<Vec<RunSummary>, StoreError> {
        home.runs().list(Which::ALL, self)
    }

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

/// The file of the index.
const INDEX: &str = "index.json";

/// A file younger than this may change again without looking different.
const SETTLED_SECONDS: i64 = 2;

impl StateDirectory {
    /// Lists runs where the index was `before`, and returns it as it is then.
    fn listed_after(
        &self,
        root: &Path,
        before: &Index,
        Which { projects, wanted }: Which<'_>,
    ) -> Result<(Vec<RunSummary>, Index), StoreError> {
        let mut after = Index::default();
        let mut runs = Vec::new();
        for id in self.ids()? {
            let known = before.0.get(&id).cloned();
            if !wanted(&id) {
                after.0.extend(known.map(|entry| (id, entry)));
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

    /// Reads of a run what never changes.
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

    /// Tells whether a later change must show in the times of the files.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_secs()).ok())
            .unwrap_or_default();
        self.database.1.max(self.log.1) + SETTLED_SECONDS < now
    }
}
