//! Small workflows as machines, and rooms to run them in.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::{
    Reply,
    command::CommandKind,
    event::Event,
    machine::{Machine, Object},
    names::RunId,
    run::{DurableRun, Phase, Run},
};
use interlock_expr::text::Places;
use interlock_runner::{Embedded, Halt, NullScreen, RunContext, command};
use interlock_store::{Durability, EventLog as _, Home, NewRun, RunLog, SourceFile};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns a durable machine that starts in `initial`.
pub(crate) fn machine(initial: &str, states: Value) -> Machine {
    let machine = json!({"id": "flow", "initial": initial, "durable": true, "states": states});
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

/// Parses `{{ key }}` in a text as a placeholder.
pub(crate) fn text(written: &str) -> Value {
    let mut pieces = Vec::new();
    for (index, part) in written.split("{{ ").enumerate() {
        let (key, plain) = match part.split_once(" }}") {
            Some((key, plain)) if index > 0 => (Some(key), plain),
            _ => (None, part),
        };
        pieces.extend(key.map(|key| match key.strip_prefix("file ") {
            Some(path) => json!({"hole": {"file": [{"plain": path}]}}),
            None => json!({"hole": {"key": key}}),
        }));
        if !plain.is_empty() {
            pieces.push(json!({ "plain": plain }));
        }
    }
    json!(pieces)
}

/// Returns an activity of `kind` with one text argument.
pub(crate) fn work(program: &str, argument: &str, written: &str) -> Value {
    json!({"kind": {"program": program}, "input": input(argument, written)})
}

/// Returns the input of a state, with one argument.
pub(crate) fn input(argument: &str, written: &str) -> Value {
    json!({"object": {argument: {"text": text(written)}}})
}

/// Returns a state that runs `command` and continues with `next`, or ends.
pub(crate) fn bash(command: &str, next: Option<&str>) -> Value {
    json!({
        "activity": {"task": work("bash", "command", command)},
        "on": {"done": {"transitions": [to(next)]}},
        "on_crash": "ask",
    })
}

/// Returns a transition to `next`, or to the end.
pub(crate) fn to(next: Option<&str>) -> Value {
    match next {
        Some(next) => json!({"target": {"state": next}}),
        None => json!({"target": {"end": "success"}}),
    }
}

/// Adds a transition for failures with `code`, or for all except cancellations.
pub(crate) fn or_else(mut state: Value, code: Option<i64>, next: &str) -> Value {
    let guard = code.map_or(json!("uncancelled"), |code| json!({ "code": code }));
    let transition = json!({"guards": [{"inline": guard}], "target": {"state": next}});
    let rule = &mut state["on"]["error"]["transitions"];
    match rule.as_array_mut() {
        Some(transitions) => transitions.push(transition),
        None => *rule = json!([transition]),
    }
    state
}

/// Adds the variable that stores the output.
pub(crate) fn into(mut state: Value, key: &str) -> Value {
    state["capture"] = json!({ "key": key });
    state
}

/// A state directory, a project and one run.
pub(crate) struct Room {
    room: TempDir,
    pub(crate) machine: Machine,
    pub(crate) run: RunId,
}

impl Room {
    /// Starts a run of `machine` that is not driven yet.
    pub(crate) fn new(machine: Machine) -> Self {
        let room = tempfile::tempdir().unwrap();
        let project = room.path().join("project");
        fs::create_dir(&project).unwrap();
        let source = SourceFile {
            name: "flow.yaml".to_owned(),
            text: String::new(),
        };
        let new = NewRun {
            machine: &machine,
            source: &source,
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: now_ms(),
        };
        let log = Home::at(room.path().join("home")).create_run(&new).unwrap();
        let run = log.run().clone();
        let run_dir = log.folder().work().join("files");
        fs::create_dir_all(&run_dir).unwrap();
        let word = |path: PathBuf| path.to_str().unwrap().to_owned();
        let places = Places {
            run_dir: word(run_dir),
            project: word(project),
            home: word(room.path().to_owned()),
        };
        let mut made = Self { room, machine, run };
        let mut host = made.host_at(log, places.clone());
        let start = CommandKind::Start {
            input: Object::new(),
            by: "test".to_owned(),
            durable: Some(DurableRun {
                places,
                ..DurableRun::default()
            }),
        };
        let decision = command(&made.machine, &mut host, &start).unwrap();
        assert!(matches!(decision.reply, Reply::Accepted), "{decision:?}");
        host.release().unwrap();
        drop(host);
        made.run = made.log().run().clone();
        made
    }

    fn host_at(&self, log: RunLog, places: Places) -> Embedded {
        let mut context = RunContext::new(self.run.to_string(), places, log.folder().work());
        context.screen = Arc::new(NullScreen);
        Embedded::take(log, context).unwrap()
    }

    pub(crate) fn home(&self) -> Home {
        Home::at(self.room.path().join("home"))
    }

    pub(crate) fn log(&self) -> RunLog {
        self.home().open_run(&self.run).unwrap()
    }

    pub(crate) fn load(&self) -> Run {
        self.log().load().unwrap()
    }

    pub(crate) fn host(&self) -> Embedded {
        let places = self.load().places().cloned().unwrap();
        self.host_at(self.log(), places)
    }

    /// Returns the host, with a context that `change` has changed.
    pub(crate) fn host_with(&self, change: impl FnOnce(&mut RunContext)) -> Embedded {
        let places = self.load().places().cloned().unwrap();
        let log = self.log();
        let mut context = RunContext::new(self.run.to_string(), places, log.folder().work());
        change(&mut context);
        Embedded::take(log, context).unwrap()
    }

    /// Returns the path of the project.
    pub(crate) fn project(&self) -> PathBuf {
        self.room.path().join("project")
    }

    /// Drives the run in this process.
    pub(crate) fn drive(&self) -> Halt {
        self.host().drive(&self.machine).unwrap()
    }

    /// Returns a command that drives the run in a separate process.
    pub(crate) fn process(&self) -> Command {
        let mut process = Command::new(env!("CARGO_BIN_EXE_carry-run"));
        let home = self.room.path().join("home");
        process.arg(home).arg(self.run.to_string());
        process.stdin(Stdio::null());
        process
    }

    pub(crate) fn run_process(&self) -> Output {
        self.process().output().unwrap()
    }

    /// Returns the path of a file in the run directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.log().folder().work().join("files").join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    pub(crate) fn variable(&self, key: &str) -> Value {
        self.load()
            .root
            .line
            .context
            .get(key)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the exit code of the run.
    pub(crate) fn code(&self) -> Option<u8> {
        match self.load().phase {
            Phase::Ended { cause: None, .. } => Some(0),
            Phase::Ended {
                cause: Some(cause), ..
            } => Some(cause.number()),
            Phase::Cancelled => Some(130),
            Phase::New | Phase::Open => None,
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let log = self.log();
        let events = log.events(0).map(|recorded| recorded.unwrap().event);
        events.collect()
    }

    /// Counts the starts of effects in the log.
    pub(crate) fn starts(&self) -> usize {
        let is_start = |event: &&Event| matches!(event, Event::EffectStarted { .. });
        self.events().iter().filter(is_start).count()
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
