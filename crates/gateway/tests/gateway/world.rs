//! A separate project, state directory and personal configuration for each test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_core::{
    call::ControlTool,
    command::{Answer as Said, Command, CommandKind, TransitionRequest},
    event::{Event, PromptCall},
    machine::Object,
    names::{AgentId, CallId, Digest, RunId},
    question,
    run::Run,
};
use interlock_facts::control_digest;
use interlock_gateway::{Answer, Control, Incoming, Settings, StartedFor, ToolPrefix};
use interlock_project::Environment;
use interlock_store::{ClientProcess, EventLog as _, Home, Lookup, Note, SessionKey, submit};
use serde_json::Value;

/// The fixed time of everything, in milliseconds since 1970.
pub(crate) const NOW: u64 = 1_790_000_000_000;

/// The environment of a server.
pub(crate) struct World {
    _directory: tempfile::TempDir,
    pub(crate) home: Home,
    pub(crate) project: PathBuf,
    pub(crate) configuration: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join(".interlock/workflows")).unwrap();
        Self {
            home: Home::at(root.join("state")),
            project,
            configuration: root.join("config"),
            _directory: directory,
        }
    }

    /// Returns a world with the workflow `w` in its project.
    pub(crate) fn with(workflow: &str) -> Self {
        let world = Self::new();
        world.workflow("w.yaml", workflow);
        world
    }

    pub(crate) fn workflow(&self, file: &str, text: &str) {
        fs::write(self.drafts().join(file), text).unwrap();
    }

    pub(crate) fn drafts(&self) -> PathBuf {
        self.project.join(".interlock/workflows")
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            environment: Environment {
                home: self.home.clone(),
                configuration: Some(self.configuration.clone()),
                directory: self.project.clone(),
                ..Environment::of_process().unwrap()
            },
            tool_prefix: ToolPrefix::Interlock,
            person: "ana".to_owned(),
            ancestors: vec![process(77), process(1)],
            started_for: StartedFor::Anything,
        }
    }

    pub(crate) fn control(&self) -> Control {
        Control::new(self.settings())
    }

    /// Leaves the note of session `s1` for a call, as a hook would.
    pub(crate) fn note(&self, tool: ControlTool, arguments: &str, change: impl FnOnce(&mut Note)) {
        let mut note = Note {
            session: session("s1"),
            run: self.bound("s1"),
            project_root: self.project.clone(),
            agent: None,
            process: None,
            call: None,
            tool: tool.into(),
            digest: control_digest(&object(arguments).into()),
            asked: false,
            question: None,
            unattended: false,
            judged: None,
            at_ms: NOW,
        };
        change(&mut note);
        if let (true, None, Some(run)) = (note.asked, &note.question, &note.run) {
            note.question = self.question(run, arguments);
        }
        self.home.leave_note(&note).unwrap();
    }

    /// Asks a person about a transition in the client's own prompt, as a hook does; returns the question.
    pub(crate) fn question(&self, run: &RunId, arguments: &str) -> Option<Digest> {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let request = TransitionRequest {
            event: arguments["event"].as_str()?.to_owned(),
            data: arguments["data"].as_object().cloned().unwrap_or_default(),
            branch: None,
            agent: None,
            by: "agent".to_owned(),
            approved_by: None,
        };
        let machine = self.home.open_run(run).unwrap().machine().unwrap();
        let asked = question(&machine, &self.run(run), &request).map(|asked| asked.digest);
        let prompt = PromptCall {
            session: "s1".to_owned(),
            agent: None,
            call: CallId::new("asked"),
        };
        self.ask(run, CommandKind::AskInPrompt { request, prompt });
        asked
    }

    /// Returns the run that is bound to a session.
    pub(crate) fn bound(&self, name: &str) -> Option<RunId> {
        match self
            .home
            .look_up(&session(name), Path::new("/nowhere"))
            .unwrap()
        {
            Lookup::Bound(binding) => Some(binding.run),
            Lookup::Unbound | Lookup::Waiting(_) | Lookup::Project(_) => None,
        }
    }

    /// Starts the workflow `w` for a session and returns the run's id.
    pub(crate) fn started_for(&self, name: &str) -> RunId {
        let arguments = r#"{"workflow": "w"}"#;
        self.note(ControlTool::Start, arguments, |note| {
            note.session = session(name);
            note.run = None;
        });
        let answer = call(&mut self.control(), ControlTool::Start, arguments);
        assert!(!answer.refused, "{}", answer.text);
        self.bound(name).unwrap()
    }

    /// Makes a call of session `s1` that its hook has judged.
    pub(crate) fn noted(
        &self,
        control: &mut Control,
        tool: ControlTool,
        arguments: &str,
    ) -> Answer {
        self.note(tool, arguments, |_| {});
        call(control, tool, arguments)
    }

    /// Submits a command to a run, as another process would.
    pub(crate) fn ask(&self, run: &RunId, command: CommandKind) {
        let mut log = self.home.open_run(run).unwrap();
        let machine = log.machine().unwrap();
        let mut folded = log.load().unwrap();
        submit(
            &mut log,
            &machine,
            &mut folded,
            &Command {
                at_ms: NOW,
                kind: command,
            },
        )
        .unwrap();
    }

    pub(crate) fn cancel(&self, run: &RunId) {
        let by = "ana".to_owned();
        self.ask(run, CommandKind::Cancel { by });
    }

    pub(crate) fn approve(&self, run: &RunId) {
        let by = "ana".to_owned();
        self.ask(
            run,
            CommandKind::Approve(Said {
                by,
                ..Said::default()
            }),
        );
    }

    pub(crate) fn run(&self, run: &RunId) -> Run {
        self.home.open_run(run).unwrap().load().unwrap()
    }

    pub(crate) fn events(&self, run: &RunId) -> Vec<Event> {
        let log = self.home.open_run(run).unwrap();
        let events = log.events(0).map(|recorded| recorded.unwrap().event);
        events.collect()
    }

    /// Returns the ids of all runs, newest first.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        let runs = self.home.list_runs().unwrap();
        runs.into_iter().map(|run| run.id).collect()
    }
}

pub(crate) fn process(pid: u32) -> ClientProcess {
    ClientProcess {
        pid,
        started: format!("at {pid}"),
    }
}

pub(crate) fn session(name: &str) -> SessionKey {
    SessionKey::new("claude-code", name)
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::new(name)
}

pub(crate) fn object(text: &str) -> Object {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Makes a call that no hook has seen.
pub(crate) fn call(control: &mut Control, tool: ControlTool, arguments: &str) -> Answer {
    call_as(control, tool, arguments, None)
}

/// Makes a call with the client's id.
pub(crate) fn call_as(
    control: &mut Control,
    tool: ControlTool,
    arguments: &str,
    id: Option<&str>,
) -> Answer {
    let incoming = Incoming {
        arguments: object(arguments),
        call: id.map(CallId::new),
        at_ms: NOW + 5,
    };
    control.answer(tool, &incoming)
}

/// Returns a value of the answer, by JSON Pointer.
pub(crate) fn at(answer: &Answer, pointer: &str) -> Value {
    let whole = Value::Object(answer.structured.clone());
    whole.pointer(pointer).cloned().unwrap_or_default()
}

pub(crate) fn code(answer: &Answer) -> String {
    let code = at(answer, "/code");
    assert_eq!(answer.refused, code.is_string(), "{}", answer.text);
    assert_eq!(at(answer, "/ok"), Value::Bool(!answer.refused));
    code.as_str().unwrap_or("ok").to_owned()
}
