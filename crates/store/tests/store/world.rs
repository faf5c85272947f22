//! A separate state directory for each test, and runs to store in it.

use std::{path::Path, sync::Arc};

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    command::{Command, CommandKind},
    event::Event,
    machine::{Machine, Object},
    names::{CallId, Digest},
};
use interlock_store::{
    Durability, EventLog as _, Home, NewRun, Prepared, PreparedFor, RunLog, Runs, SessionKey,
    SourceFile,
};
use serde_json::json;
use tempfile::TempDir;

pub(crate) const PROJECT: &str = "/projects/shop";
pub(crate) const NOW: u64 = 1_700_000_000_000;

pub(crate) struct World {
    _directory: TempDir,
    pub(crate) home: Home,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::at(TempDir::new().unwrap(), "state/interlock")
    }

    /// Stores the runs in a store of another kind.
    pub(crate) fn with_runs(mut self, runs: impl Runs + 'static) -> Self {
        self.home = self.home.with_runs(Arc::new(runs));
        self
    }

    pub(crate) fn at(directory: TempDir, place: &str) -> Self {
        let home = Home::at(directory.path().join(place));
        Self {
            _directory: directory,
            home,
        }
    }

    /// Starts a run of a machine that allows `calls` calls.
    pub(crate) fn start(&self, calls: u64) -> RunLog {
        self.start_named(calls, None, Path::new(PROJECT), NOW)
    }

    pub(crate) fn start_named(
        &self,
        calls: u64,
        name: Option<&str>,
        project_root: &Path,
        at_ms: u64,
    ) -> RunLog {
        let machine = machine(calls);
        let source = source();
        let new = NewRun {
            machine: &machine,
            source: &source,
            project_root,
            name,
            durability: Durability::Process,
            at_ms,
        };
        self.home.start_run(&new, Object::new(), "ana").unwrap().log
    }

    /// Creates an unpublished run for a session.
    pub(crate) fn prepared(&self, session: &SessionKey) -> PreparedFor {
        self.prepared_for_all().for_session(session, None).unwrap()
    }

    /// Creates an unpublished run for any session.
    pub(crate) fn prepared_for_all(&self) -> Prepared {
        let (machine, source) = (machine(1), source());
        let new = NewRun {
            machine: &machine,
            source: &source,
            project_root: Path::new(PROJECT),
            name: None,
            durability: Durability::Process,
            at_ms: NOW,
        };
        self.home.prepare_run(&new, Object::new(), "ana").unwrap()
    }

    /// Starts a run with `count` events.
    pub(crate) fn start_with_events(&self, count: u64) -> RunLog {
        let mut log = self.start(1);
        for seq in 1..count {
            log.append(seq, NOW + seq, &[pause(seq)]).unwrap();
        }
        log
    }
}

pub(crate) fn source() -> SourceFile {
    SourceFile {
        name: "shop.yaml".to_owned(),
        text: "id: shop\n".to_owned(),
    }
}

pub(crate) fn machine(calls: u64) -> Machine {
    serde_json::from_value(json!({
        "id": "shop",
        "initial": "working",
        "context": { "big": 123_456_789_012_345_678_901_234_567_890_u128, "half": 0.5 },
        "states": {
            "working": {
                "policy": { "iterations_max": calls },
                "on": { "DONE": { "transitions": [{ "target": { "state": "done" } }] } }
            },
            "done": { "activity": { "final": { "outcome": "success" } } }
        }
    }))
    .map(Machine::seal)
    .unwrap()
}

pub(crate) fn propose(id: &str) -> Command {
    let call = ToolCall {
        id: CallId::new(id),
        tool: "Read".to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Other,
        digest: Digest::new(id),
        summary: id.to_owned(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts::default(),
    };
    Command {
        at_ms: NOW,
        kind: CommandKind::Propose(Box::new(call)),
    }
}

/// Returns an event with a number in it.
pub(crate) fn pause(number: u64) -> Event {
    Event::RunPaused {
        by: number.to_string(),
        reason: None,
    }
}

pub(crate) fn in_parallel<T: Send>(count: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = (0..count)
            .map(|index| scope.spawn(move || act(index)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}
