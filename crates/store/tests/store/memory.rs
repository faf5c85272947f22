//! A store of runs in memory: the traits are sufficient for a store without files.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::Duration,
};

use interlock_core::{
    event::Event,
    evolve,
    machine::Machine,
    names::{CallId, Digest, RunId},
    run::Run,
};
use interlock_store::{
    AppendError, Blobs, Broken, ChainHash, Durability, EventLog, FirstBroken, Listed, Messages,
    NewRun, Recorded, RunCard, RunFolder, RunList, RunLog, RunStore, RunSummary, Runs, SourceFile,
    StoreError, UnpublishedRun, VerifyError, Which,
};
use interlock_view::report::{state_paths, status};
use sha2::{Digest as _, Sha256};

use crate::world::World;

/// All runs, and the place of their folders.
#[derive(Debug, Clone)]
pub(crate) struct MemoryRuns {
    runs: Arc<Mutex<BTreeMap<RunId, Arc<Shared>>>>,
    folders: PathBuf,
}

/// A run shared by several handles.
struct Shared {
    kept: Mutex<Kept>,
    grown: Condvar,
}

struct Kept {
    source: SourceFile,
    project_root: PathBuf,
    name: Option<String>,
    durability: Durability,
    created_ms: u64,
    machines: Vec<Machine>,
    pin: ChainHash,
    rows: Vec<Row>,
    messages: BTreeMap<Digest, Vec<u8>>,
    outputs: BTreeMap<CallId, String>,
}

#[derive(Clone)]
struct Row {
    at_ms: u64,
    body: Vec<u8>,
    hash: ChainHash,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run in memory")
    }
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }
}

fn unwritable(what: &str) -> StoreError {
    StoreError::Unwritable {
        path: PathBuf::from("memory"),
        what: what.to_owned(),
    }
}

impl Kept {
    fn push(&mut self, at_ms: u64, event: &Event) -> Result<(), StoreError> {
        let body = serde_json::to_vec(event).map_err(|error| unwritable(&error.to_string()))?;
        match serde_json::from_slice::<Event>(&body) {
            Ok(again) if again == *event => {}
            _ => return Err(unwritable("an event that reads back otherwise")),
        }
        let prev = self.rows.last().map_or(self.pin, |row| row.hash);
        let hash = ChainHash::link(prev, self.rows.len() as u64, at_ms, &body);
        self.rows.push(Row { at_ms, body, hash });
        Ok(())
    }

    fn events(&self) -> Vec<Recorded> {
        let mut prev = self.pin;
        let mut read = |(seq, row): (usize, &Row)| {
            let recorded = Recorded {
                seq: seq as u64,
                at_ms: row.at_ms,
                event: serde_json::from_slice(&row.body).unwrap(),
                prev,
                hash: row.hash,
            };
            prev = row.hash;
            recorded
        };
        self.rows.iter().enumerate().map(&mut read).collect()
    }

    fn fold(&self, run: &RunId) -> Run {
        let fresh = Run::new(run.clone());
        self.events()
            .iter()
            .fold(fresh, |run, recorded| evolve(run, &recorded.event))
    }
}

/// The messages of one run.
#[derive(Debug)]
struct Said(Arc<Shared>);

impl Blobs for Said {
    fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::new(format!("{:x}", Sha256::digest(bytes)));
        let mut kept = self.0.kept();
        kept.messages.insert(digest.clone(), bytes.to_owned());
        Ok(digest)
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let found = self.0.kept().messages.get(digest).cloned();
        found.ok_or_else(|| StoreError::Damaged {
            path: PathBuf::from("memory"),
            what: format!("message `{digest}` is not there"),
        })
    }
}

impl Runs for MemoryRuns {
    fn write(
        &self,
        run: &RunId,
        new: &NewRun<'_>,
        events: &[Event],
        beside: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Box<dyn UnpublishedRun>, StoreError> {
        if new.machine.clone().seal() != *new.machine {
            return Err(unwritable("a machine that is not sealed"));
        }
        let mut kept = Kept {
            source: new.source.clone(),
            project_root: new.project_root.to_owned(),
            name: new.name.map(str::to_owned),
            durability: new.durability,
            created_ms: new.at_ms,
            machines: vec![new.machine.clone()],
            pin: ChainHash::of_parts(&[run.as_str().as_bytes(), new.machine.hash.as_bytes()]),
            rows: Vec::new(),
            messages: BTreeMap::new(),
            outputs: BTreeMap::new(),
        };
        for event in events {
            kept.push(new.at_ms, event)?;
        }
        let folder = self.folders.join(run.as_str());
        fs::create_dir_all(&folder).unwrap();
        beside(&folder)?;
        Ok(Box::new(Unpublished {
            id: run.clone(),
            folder,
            shared: Arc::new(Shared {
                kept: Mutex::new(kept),
                grown: Condvar::new(),
            }),
            store: self.clone(),
        }))
    }

    fn open(&self, run: &RunId) -> Result<RunLog, StoreError> {
        let found = self.runs.lock().unwrap().get(run).cloned();
        let shared = found.ok_or_else(|| StoreError::MissingRun {
            run: run.clone(),
            path: self.folders.join(run.as_str()),
        })?;
        let durability = shared.kept().durability;
        let folder = self.folders.join(run.as_str());
        Ok(RunLog::new(MemoryRun {
            id: run.clone(),
            folder: RunFolder::new(folder, self.folders.join(format!("work-{run}")), durability),
            shared,
        }))
    }

    fn ids(&self) -> Result<Vec<RunId>, StoreError> {
        Ok(self.runs.lock().unwrap().keys().rev().cloned().collect())
    }

    fn relocate(&self, run: &RunId, project_root: &Path, _: &Path) -> Result<(), StoreError> {
        let shared = self.runs.lock().unwrap()[run].clone();
        shared.kept().project_root = project_root.to_owned();
        Ok(())
    }

    fn list(&self, which: Which<'_>, _: &mut RunList) -> Result<Vec<RunSummary>, StoreError> {
        let mut listed = Vec::new();
        for (id, shared) in self.runs.lock().unwrap().iter().rev() {
            let kept = shared.kept();
            let is_of = |projects: &[&Path]| projects.contains(&kept.project_root.as_path());
            if !(which.wanted)(id) || !which.projects.is_none_or(is_of) {
                continue;
            }
            let (machine, run) = (&kept.machines[0], kept.fold(id));
            let card = RunCard {
                workflow: machine.id.clone(),
                name: kept.name.clone(),
                project_root: kept.project_root.clone(),
                created_ms: kept.created_ms,
                last_ms: kept.rows.last().map_or(kept.created_ms, |row| row.at_ms),
                status: status(machine, &run),
                state: state_paths(machine, &run).0,
                events: run.seq,
            };
            listed.push(RunSummary {
                id: id.clone(),
                listed: Listed::Known(card),
            });
        }
        Ok(listed)
    }
}

#[derive(Debug)]
struct Unpublished {
    id: RunId,
    folder: PathBuf,
    shared: Arc<Shared>,
    store: MemoryRuns,
}

impl UnpublishedRun for Unpublished {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn publish(self: Box<Self>) -> Result<RunLog, StoreError> {
        let mut runs = self.store.runs.lock().unwrap();
        runs.insert(self.id.clone(), self.shared.clone());
        drop(runs);
        self.store.open(&self.id)
    }
}

#[derive(Debug)]
struct MemoryRun {
    id: RunId,
    folder: RunFolder,
    shared: Arc<Shared>,
}

impl EventLog for MemoryRun {
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<(), AppendError> {
        let mut kept = self.shared.kept();
        let found = kept.rows.len();
        if found as u64 != expected_seq {
            return Err(AppendError::Conflict {
                expected: expected_seq,
                found: found as u64,
            });
        }
        for event in events {
            if let Err(error) = kept.push(at_ms, event) {
                kept.rows.truncate(found);
                return Err(error.into());
            }
        }
        self.shared.grown.notify_all();
        Ok(())
    }

    fn load(&self) -> Result<Run, StoreError> {
        Ok(self.shared.kept().fold(&self.id))
    }

    fn count(&self) -> Result<u64, StoreError> {
        Ok(self.shared.kept().rows.len() as u64)
    }

    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_> {
        let events = self.shared.kept().events();
        Box::new(events.into_iter().skip(from as usize).map(Ok))
    }

    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError> {
        let is_short = |kept: &mut Kept| kept.rows.len() as u64 <= seen;
        let grown = &self.shared.grown;
        let waited = grown.wait_timeout_while(self.shared.kept(), timeout, is_short);
        Ok(!waited.unwrap().1.timed_out())
    }
}

impl RunStore for MemoryRun {
    fn run(&self) -> &RunId {
        &self.id
    }

    fn durability(&self) -> Durability {
        self.shared.kept().durability
    }

    fn name(&self) -> Result<Option<String>, StoreError> {
        Ok(self.shared.kept().name.clone())
    }

    fn source(&self) -> Result<SourceFile, StoreError> {
        Ok(self.shared.kept().source.clone())
    }

    fn machine(&self) -> Result<Machine, StoreError> {
        self.machine_of(&self.load()?)
    }

    fn machine_of(&self, run: &Run) -> Result<Machine, StoreError> {
        let kept = self.shared.kept();
        let is_it = |machine: &&Machine| run.adopted.as_ref() == Some(&machine.hash);
        let followed = kept.machines.iter().find(is_it);
        Ok(followed.unwrap_or(&kept.machines[0]).clone())
    }

    fn keep_machine(&self, machine: &Machine) -> Result<(), StoreError> {
        self.shared.kept().machines.push(machine.clone());
        Ok(())
    }

    fn verify(&self) -> Result<u64, VerifyError> {
        let kept = self.shared.kept();
        let mut prev = kept.pin;
        for (seq, row) in kept.rows.iter().enumerate() {
            let seq = seq as u64;
            if ChainHash::link(prev, seq, row.at_ms, &row.body) != row.hash {
                let broken = Broken::Hash;
                return Err(VerifyError::Broken(FirstBroken { seq, broken }));
            }
            prev = row.hash;
        }
        Ok(kept.rows.len() as u64)
    }

    fn messages(&self) -> Messages {
        Messages::new(Said(self.shared.clone()))
    }

    fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let mut kept = self.shared.kept();
        kept.outputs.insert(call.clone(), text.to_owned());
        Ok(())
    }

    fn output(&self, call: &CallId) -> Result<Option<String>, StoreError> {
        Ok(self.shared.kept().outputs.get(call).cloned())
    }

    fn folder(&self) -> &RunFolder {
        &self.folder
    }

    fn stay_open(&mut self) {}

    fn wait_by(&mut self, _: fn(i32) -> bool) {}

    fn is_in_place(&self) -> bool {
        true
    }

    fn tidy_up(&mut self) {}
}

impl MemoryRuns {
    /// Returns a store without runs, whose folders are in `folders`.
    pub(crate) fn at(folders: PathBuf) -> Self {
        Self {
            runs: Arc::default(),
            folders,
        }
    }
}

impl World {
    /// Returns a world whose runs are stored in memory.
    pub(crate) fn in_memory() -> Self {
        let world = Self::new();
        let runs = MemoryRuns::at(world.home.path().join("folders"));
        world.with_runs(runs)
    }
}
