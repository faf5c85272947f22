#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use interlock_core::{
    call::{FileWrite, PathArea},
    command::{Command, CommandKind},
    decide, evolve,
    machine::Object,
    names::RunId,
};
use interlock_facts::CallContext;
use interlock_models::{Answer, Failure, Heard, ModelError, Request, Usage};
use interlock_process::Cancel;
use interlock_sandbox::plan::Column;
use interlock_store::{Durability, Home, NewRun, SourceFile};
use serde_json::json;
use tempfile::TempDir;

use super::{
    super::{
        models::{Model, Models, Tries},
        place::People,
        servers::{Served, ServedEnd, Servers},
    },
    *,
};

/// There is no model: these tests begin with a call that one has made.
struct NoModels;

impl Models for NoModels {
    fn find(&self, _: Option<&str>) -> Result<Model, String> {
        Err("there is no model".to_owned())
    }

    fn call(
        &self,
        _: &Model,
        _: &Request,
        _: Tries,
        _: &Cancel,
        _: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, ModelError> {
        Err(ModelError {
            failure: Failure {
                code: interlock_models::Code::ModelError,
                message: "there is no model".to_owned(),
                status: None,
                is_passing: false,
                retry_after: None,
            },
            tries: 1,
        })
    }

    fn cost(&self, _: &Model, _: &Usage) -> Option<u64> {
        None
    }
}

/// A server that is away, and says what it was started with.
struct Away;

impl Servers for Away {
    fn tools(&self) -> Vec<Served> {
        Vec::new()
    }

    fn known(&self, _: &str) -> Option<Served> {
        None
    }

    fn proposed(&self, id: CallId, tool: &str, _: &Arguments) -> ToolCall {
        unknown(id, tool)
    }

    fn call(&self, _: &str, _: &Arguments, _: &Cancel) -> ServedEnd {
        ServedEnd {
            ok: false,
            code: Some(Code::Unreachable.as_str().to_owned()),
            text: "`tracker --key hunter2hunter2` has ended".to_owned(),
            passing: true,
        }
    }
}

/// A state that only reads, where a stage asks a person about everything else.
fn machine() -> Machine {
    let machine = json!({
        "id": "flow", "initial": "a",
        "states": {
            "a": {"policy": {"allowed_tools": ["Read", "Bash"]}, "on": {"done": {"transitions": [{"target": {"state": "end"}}]}}},
            "end": {"activity": {"final": {"outcome": "success"}}},
        },
    });
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

fn stages(room: &TempDir, machine: &Machine) -> Stages {
    let base = room.path().canonicalize().unwrap();
    let project = base.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let home = Home::at(base.join("state"));
    let log = home
        .create_run(&NewRun {
            machine,
            source: &SourceFile {
                name: "flow.json".to_owned(),
                text: "{}".to_owned(),
            },
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: 1,
        })
        .unwrap();
    Stages {
        models: Arc::new(NoModels),
        model: None,
        tools: Tool::PIPELINE.to_vec(),
        secrets: Secrets::default(),
        servers: Some(Arc::new(Away)),
        messages: log.messages(),
        home,
        place: CallContext::of_project(project.to_str().unwrap()).resolved(&RealDisk),
        decided: interlock_confine::Decided::default(),
        program: "interlock".into(),
        people: People::default(),
        datasources: Vec::new(),
        variables: BTreeMap::new(),
    }
}

#[test]
fn a_yes_lets_a_line_write_only_what_the_person_was_shown() {
    let room = TempDir::new().unwrap();
    let machine = machine();
    let stages = stages(&room, &machine);
    let start = Command {
        at_ms: 1,
        kind: CommandKind::Start {
            input: Object::new(),
            by: "ana".to_owned(),
            durable: None,
        },
    };
    let run = Run::new(RunId::new("r"));
    let begun = decide(&machine, &run, &start);
    let run = begun.events.iter().fold(run, evolve);
    // What `./report` writes is known to nobody: the yes was given to a line that shows no write.
    for (line, granted, column) in [
        ("echo x > out.txt", true, Column::Writing),
        ("echo x > out.txt", false, Column::NoWrite),
        ("./report", true, Column::NoWrite),
    ] {
        let arguments = Arguments::read(&json!({ "command": line }).to_string()).unwrap();
        let call = facts(&stages, CallId::new("c1"), "Bash", &arguments);
        let judged = Judged {
            machine: &machine,
            run: &run,
            path: &FramePath::root(),
            granted,
        };
        let plan = plan_of(&stages, &judged, &call, &arguments).unwrap();
        assert_eq!(plan.column, column, "{line}, granted: {granted}");
    }
}

#[test]
fn why_a_call_is_made_again_shows_no_secret_of_its_tool() {
    let room = TempDir::new().unwrap();
    let mut stages = stages(&room, &machine());
    let key = ("KEY".to_owned(), "hunter2hunter2".to_owned());
    stages
        .variables
        .insert("tracker__find".to_owned(), vec![key]);
    let arguments = Arguments::read("{}").unwrap();
    let retry = Retry {
        attempts: 2,
        wait_ms: 0,
        backoff: "1".to_owned(),
        wait_max_ms: 0,
        codes: None,
        only_passing: true,
        jitter: false,
    };
    let shown = Mutex::new(Vec::new());
    let bench = ExecutionContext {
        stages: &stages,
        transcript: &Transcript::new(None, None),
        cancel_token: &CancelToken::new().unwrap(),
        result_bytes: 1000,
        retry: Some(&retry),
        environment: &[],
        printed: &|_| {},
        again: &|why| shown.lock().unwrap().push(why.to_owned()),
    };
    let job = Job {
        id: CallId::new("c1"),
        tool: "tracker__find",
        arguments: &arguments,
        facts: &CallFacts::default(),
        judged: &[],
        plan: None,
    };
    let ended = run(bench, &job).unwrap();
    let shown = shown.into_inner().unwrap();
    assert_eq!((shown.len(), ended.again.len()), (1, 1), "{shown:?}");
    let result = stages.messages.read(&ended.told).unwrap();
    for text in shown.iter().chain(&ended.again) {
        assert!(text.contains("`tracker --key "), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(!String::from_utf8_lossy(&result).contains("hunter2"));
}

#[test]
fn every_file_of_a_call_is_where_it_was_judged() {
    let written = |path: &str| FileWrite {
        path: Some(path.to_owned()),
        relative: None,
        place: PathArea::Project,
        by: "apply_patch".to_owned(),
        removes: false,
        recursive: false,
        lines: None,
        before: None,
    };
    let arguments = Arguments::read("{}").unwrap();
    let mut facts = CallFacts {
        writes: vec![written("/p/a"), written("/p/b")],
        ..CallFacts::default()
    };
    let moved = |facts: &CallFacts, judged: &[&str]| {
        let judged: Vec<String> = judged.iter().map(|&path| path.to_owned()).collect();
        let job = Job {
            id: CallId::new("c1"),
            tool: "apply_patch",
            arguments: &arguments,
            facts,
            judged: &judged,
            plan: None,
        };
        moved(&job).map(|(code, sentence)| (code.as_str(), sentence))
    };
    assert_eq!(moved(&facts, &["/p/a", "/p/b"]), None);
    for (judged, elsewhere) in [(["/p/a", "/q/b"], "`/p/b`"), (["/q/a", "/p/b"], "`/p/a`")] {
        let (code, sentence) = moved(&facts, &judged).unwrap();
        assert_eq!(code, Code::Moved.as_str());
        assert!(sentence.starts_with(elsewhere), "{sentence}");
    }
    facts.protected = Some("a hook".to_owned());
    let (code, _) = moved(&facts, &["/p/a", "/p/b"]).unwrap();
    assert_eq!(code, Code::Protected.as_str());
}
