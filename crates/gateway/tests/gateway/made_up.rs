//! Random sessions: two clients and a person in one project, and the answers to each of them.
//!
//! `made_up.txt` has a line for each: a digest of all answers and records. After an intended change,
//! `INTERLOCK_BLESS=1` rewrites it; with `INTERLOCK_FOUND=DIRECTORY`, everything is written there.

use std::{fmt::Write as _, path::Path};

use interlock_core::{
    call::ControlTool,
    command::{Answer as Said, CommandKind},
    names::{CallId, RunId},
};
use interlock_gateway::{
    Control, Incoming,
    govern::{
        CallDecision, CallEnd, Caller, ListedTool, OwnCall, PersonSaid, Reading, ReadingOf,
        SessionPolicy as _, Ticket,
    },
};
use interlock_testkit::{
    dice::Dice,
    found::{compare, without_chance},
};
use serde_json::{Value, json, value::RawValue};

use crate::gateway::{
    governed_session::{Session, WORK},
    world::{NOW, World, object, session},
};

const SESSIONS: u64 = 28;
const STEPS: usize = 32;

const GRANTS: &str = r#"
id: w
initial: asks
states:
  asks:
    allowed_tools: [look, write_file]
    on_denied: ask
    context_budget_bytes: 60
    max_iterations: 6
    on: {GO: {target: next, requires_approval: {message: "go on?"}}, DONE: end}
  next:
    allowed_tools: ["fs__*"]
    disallowed_tools: [move_file]
    on: {BACK: asks, DONE: {target: end, guards: [{evidence: {tool: look}}]}}
  end: {type: final}
"#;

const FORKS: &str = r#"
id: w
initial: plan
context: {n: 0}
states:
  plan: {allowed_tools: [look], on: {SPLIT: {target: fork, guards: [{field: n, op: gte, value: 1}]}, DONE: end}}
  fork:
    type: fork
    branches: {left: {initial: l}, right: {initial: r}}
    on: {done: end, error: plan}
  l: {allowed_tools: [write_file], max_edit_lines: 2, on: {OK: l_end}}
  l_end: {type: final}
  r: {allowed_tools: [look], on: {OK: r_end, NO: r_lost}}
  r_end: {type: final}
  r_lost: {type: final, outcome: failure}
  end: {type: final}
"#;

const SERVERS: &str = r#"
[mcp.fs]
command = "fs"
[mcp.fs.tools.write_file]
writes = ["path"]
content = "content"
[mcp.web]
command = "web"
"#;

/// All participants.
struct Scene {
    world: World,
    dice: Dice,
    sessions: Vec<Session>,
    control: Control,
    tickets: Vec<(usize, Ticket)>,
    keys: Vec<(usize, String)>,
    /// Runs in the order in which they began.
    runs: Vec<RunId>,
    text: String,
}

impl Scene {
    fn new(number: u64) -> Self {
        let mut dice = Dice::of("gateway", number);
        let workflow = *dice.pick(&[WORK, GRANTS, FORKS]).unwrap();
        let world = World::with(workflow);
        if dice.one_in(4) {
            let config = "workflow = \"w\"\nhold = \"run\"\n";
            std::fs::write(world.project.join(".interlock/config.toml"), config).unwrap();
        }
        let sessions = vec![
            Session::of(&world, Caller::Stdio, SERVERS),
            Session::of(&world, Caller::Nobody, SERVERS),
        ];
        Self {
            control: world.control(),
            world,
            dice,
            sessions,
            tickets: Vec::new(),
            keys: Vec::new(),
            runs: Vec::new(),
            text: String::new(),
        }
    }

    fn say(&mut self, what: &str, told: &impl std::fmt::Debug) {
        writeln!(self.text, "{what} {told:?}").unwrap();
    }

    fn some_session(&mut self) -> usize {
        usize::from(self.dice.one_in(4)).min(self.sessions.len() - 1)
    }

    fn arguments(&mut self) -> Value {
        let path = self
            .dice
            .word(&["a.txt", "db/x.sql", "../o", "src/a.rs", "/etc/passwd"]);
        let content = self.dice.word(&["x", "1\n2\n3\n4\n5\n", ""]);
        match self.dice.below(5) {
            0 => json!({}),
            1 => json!({"path": 7}),
            2 => json!({"uri": format!("file://{path}")}),
            _ => json!({"path": path, "content": content}),
        }
    }

    fn step(&mut self) {
        match self.dice.below(20) {
            0..=6 => self.call(),
            7..=9 => self.end(),
            10..=13 => self.own(),
            14 => self.read(),
            15 => self.answer(),
            16 => self.person(),
            17 => self.noted(),
            18 => self.shown(),
            _ => self.definition(),
        }
        for run in self.world.runs() {
            if !self.runs.contains(&run) {
                self.runs.push(run);
            }
        }
    }

    fn call(&mut self) {
        let (at, arguments) = (self.some_session(), self.arguments());
        let server = self.dice.word(&["fs", "web"]);
        let tool = self
            .dice
            .word(&["look", "write_file", "move_file", "list_files"]);
        let state = self.dice.one_in(6).then(|| json!("state"));
        let answers = state.is_some() || self.dice.one_in(9);
        let session = self.sessions.get_mut(at).unwrap();
        let ruling = session.with_input(&server, &tool, &arguments, (state.as_ref(), answers));
        self.ruled(at, &format!("{server} {tool} {arguments}"), ruling);
    }

    fn ruled(&mut self, at: usize, what: &str, ruling: CallDecision) {
        // Like the protocol layer after each call: the client is notified if the list has changed.
        let changed = self.sessions.get_mut(at).unwrap().governor.changed();
        self.say("changed", &changed);
        match ruling {
            CallDecision::Pass(ticket) => {
                self.say(what, &ticket.bytes_max);
                self.tickets.push((at, ticket));
            }
            CallDecision::Answer(answer) => self.say(what, &answer.to_string()),
            CallDecision::Ask(question) => {
                self.say(what, &(question.message, question.unasked.to_string()));
                self.keys.push((at, question.key));
            }
        }
    }

    fn end(&mut self) {
        let Some((at, ticket)) = self.dice.pick(&self.tickets).cloned() else {
            return;
        };
        let text = "x".repeat(self.dice.below(90));
        let raw = |value: Value| RawValue::from_string(value.to_string()).unwrap();
        let result = match self.dice.below(5) {
            0 => json!({"content": [{"type": "text", "text": text}], "isError": true}),
            1 => json!({"content": [], "structuredContent": {"text": text}}),
            2 => {
                json!({"resultType": "input_required", "requestState": "state", "inputRequests": {}})
            }
            _ => json!({"content": [{"type": "text", "text": text}]}),
        };
        let (result, error) = (raw(result), raw(json!({"code": -32000, "message": text})));
        let end = match self.dice.below(6) {
            0 => CallEnd::Error(&error),
            1 => CallEnd::Unknown,
            _ => CallEnd::Result(&result),
        };
        let session = self.sessions.get_mut(at).unwrap();
        let instead = session.governor.ended(&ticket, end, NOW + 20);
        self.say("ended", &instead);
    }

    /// Returns the arguments of a control tool.
    fn control_call(&mut self) -> (ControlTool, &'static str, String) {
        let event = self
            .dice
            .word(&["READY", "GO", "DONE", "SPLIT", "OK", "BACK", "NOPE"]);
        let data = self.dice.word(&["{}", "{\"n\": 1}"]);
        let branch = self.dice.word(&["", "", "left", "right"]);
        let named = if branch.is_empty() {
            String::new()
        } else {
            format!(", \"branch\": \"{branch}\"")
        };
        match self.dice.below(9) {
            0 => (
                ControlTool::Start,
                "interlock_start",
                "{\"workflow\": \"w\"}".to_owned(),
            ),
            1 => (
                ControlTool::Pause,
                "interlock_pause",
                "{\"reason\": \"a look\"}".to_owned(),
            ),
            2 => (
                ControlTool::ListWorkflows,
                "interlock_list_workflows",
                "{}".to_owned(),
            ),
            3 | 4 => (
                ControlTool::GetState,
                "interlock_get_state",
                "{}".to_owned(),
            ),
            _ => (
                ControlTool::Transition,
                "interlock_transition",
                format!("{{\"event\": \"{event}\", \"data\": {data}{named}}}"),
            ),
        }
    }

    /// Calls a control tool through a session.
    fn own(&mut self) {
        let (at, (_, name, arguments)) = (self.some_session(), self.control_call());
        let given = object(&arguments);
        let call = OwnCall {
            arguments: &given,
            meta: None,
            at_ms: NOW + 15,
        };
        let session = self.sessions.get_mut(at).unwrap();
        if let Some(ruling) = session.governor.own_call(name, &call) {
            self.ruled(at, &format!("{name} {arguments}"), ruling);
        }
    }

    /// Calls a control tool for a client whose hook has judged the call, or has not.
    fn noted(&mut self) {
        let (tool, name, arguments) = self.control_call();
        let of = self.dice.word(&["s1", "s2"]);
        let asked = self.dice.one_in(3);
        if !self.dice.one_in(3) {
            self.world.note(tool, &arguments, |note| {
                note.session = session(&of);
                note.asked = asked;
            });
        }
        let incoming = Incoming {
            arguments: object(&arguments),
            call: self.dice.one_in(3).then(|| CallId::new("named")),
            at_ms: NOW + 5,
        };
        let answer = self.control.answer(tool, &incoming);
        let structured = Value::Object(answer.structured).to_string();
        self.say(
            &format!("{name} {arguments}"),
            &(answer.text, structured, answer.refused),
        );
    }

    fn read(&mut self) {
        let at = self.some_session();
        let uri = self.dice.word(&[
            "file:///etc/passwd",
            "file://a.txt",
            "https://x.example/",
            "db:rows",
        ]);
        let arguments = json!({"path": "a.txt"});
        let of = match self.dice.one_in(3) {
            true => ReadingOf::Prompt("p", &arguments),
            false => ReadingOf::Resource(&uri),
        };
        let reading = Reading {
            server: "fs",
            of,
            at_ms: NOW,
        };
        let session = self.sessions.get_mut(at).unwrap();
        let refused = session.governor.read(&reading);
        let refused = refused.map(|refused| (refused.message, refused.data.to_string()));
        self.say(&uri, &refused);
    }

    /// Answers a session's question to its person.
    fn answer(&mut self) {
        let Some((at, key)) = self.dice.pick(&self.keys).cloned() else {
            return;
        };
        let said = match self.dice.below(4) {
            0 => PersonSaid::No {
                note: "not so".to_owned(),
            },
            1 => PersonSaid::Nothing,
            _ => PersonSaid::Yes,
        };
        let session = self.sessions.get_mut(at).unwrap();
        let ruling = session.governor.answered(&key, &said, NOW + 30);
        self.ruled(at, &format!("{said:?}"), ruling);
    }

    /// Submits a person's command from elsewhere.
    fn person(&mut self) {
        let Some(run) = self.runs.last().cloned() else {
            return;
        };
        let by = "ana".to_owned();
        self.world.ask(
            &run,
            match self.dice.below(6) {
                0 => CommandKind::Cancel { by },
                1 => CommandKind::Pause { by, reason: None },
                2 => CommandKind::Reject(Said {
                    by,
                    ..Said::default()
                }),
                3 => CommandKind::Approve(Said {
                    by,
                    ..Said::default()
                }),
                _ => CommandKind::Resume { by, seen: None },
            },
        );
    }

    fn shown(&mut self) {
        let at = self.some_session();
        let session = self.sessions.get_mut(at).unwrap();
        let definition = session.definition.clone();
        let names = ["look", "write_file", "move_file", "list_files"];
        let tools = names.map(|name| ListedTool {
            server: "fs",
            name,
            shown: name,
            definition: &definition,
        });
        let told = (session.governor.shown(&tools), session.governor.changed());
        self.say("shown", &told);
    }

    /// Changes the server's definitions of its tools.
    fn definition(&mut self) {
        let at = self.some_session();
        let read_only = self.dice.one_in(2);
        let description = self.dice.word(&["d", "d", "other"]);
        let session = self.sessions.get_mut(at).unwrap();
        session.definition["description"] = json!(description);
        session.definition["annotations"] = json!({"readOnlyHint": read_only});
    }

    /// Returns all answers and records, without the parts that differ between runs of the test.
    fn told(mut self) -> String {
        for run in &self.runs {
            for event in self.world.events(run) {
                writeln!(self.text, "{}", serde_json::to_string(&event).unwrap()).unwrap();
            }
        }
        for (number, run) in self.runs.iter().enumerate() {
            self.text = self.text.replace(run.as_str(), &format!("RUN{number}"));
        }
        let root = self.world.project.parent().unwrap().to_str().unwrap();
        without_chance(&self.text.replace(root, "ROOM"))
    }
}

#[test]
fn sessions_by_chance_are_told_what_they_were() {
    let mut found = Vec::new();
    for number in 0..SESSIONS {
        let mut scene = Scene::new(number);
        for _ in 0..STEPS {
            scene.step();
        }
        found.push((format!("session {number}"), scene.told()));
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/made_up.txt");
    compare(&list, &found).unwrap();
}
