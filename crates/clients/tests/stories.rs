//! One test per file below `tests/CLIENT`: hook input in, answers out.
//!
//! A file contains a `workflow`, how a run of it starts to guard sessions (`start`: `waiting`, `session` or `policy`,
//! with `hold` as in a project's configuration; if left out, none does), `files`, and `steps`. A step is one of:
//!
//! - `hook`: the client's JSON; the fields common to every input are added, and a null removes one. `session` names a
//!   session other than the first, `argument` the event if the hook's command line contains it, `process` the client's
//!   process if several sessions share one, `through` the client for which that line was written. `answer`: the output;
//!   in it, `{"holds": […]}` matches a text that contains all of these. `refused`: exit code 2, with all of these in
//!   the message.
//! - `event`: the transition that a server or a person requests from the first session's run; `taken`: whether it is
//!   taken.
//! - `write`: files that something else writes in the meantime. A `hook` step without `answer` may answer anything.
//! - `begin`: another run waits for the project's next session.
//! - `pause`: who pauses the first session's run.
//! - `exit`: the exit code that `interlock exec` reports for the call named `call`, confined at `files`.
//! - `note`: the control tool for whose call a note exists now, with `asked`.
//!
//! `ROOT` in any text is the project's directory.
//!
//! `answers.txt` has one line per file: a digest of all answers and records, with the tickets and notes that were left,
//! and of the answers when some steps were repeated and sent in other forms. After an intended change,
//! `INTERLOCK_BLESS=1` rewrites it; with `INTERLOCK_FOUND=DIRECTORY`, everything is written there, for comparison with
//! the previous revision.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(
    clippy::indexing_slicing,
    reason = "absent keys of a JSON value are null"
)]

use std::{cell::RefCell, fs, path::Path};

use interlock_clients::{ClientId, control_tool, hook::respond, read};
use interlock_core::{
    Reply,
    command::{Command, CommandKind, LineEnd, LineStart, TransitionRequest},
    machine::Object,
    names::FramePath,
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_project::Environment;
use interlock_store::{
    ClientProcess, Durability, EventLog as _, Home, Lookup, NewRun, SessionKey, SourceFile, submit,
};
use interlock_testkit::found::{compare_one, without_chance};
use serde_json::{Value, json};
use tempfile::TempDir;

const SESSION: &str = "s1";

/// Returns a process unique within the story.
fn process(name: &str) -> ClientProcess {
    ClientProcess {
        pid: u32::MAX,
        started: name.to_owned(),
    }
}

struct Story {
    client: ClientId,
    room: TempDir,
    environment: Environment,
    workflow: String,
    /// The answers so far.
    answers: RefCell<String>,
}

impl Story {
    fn new(client: ClientId, told: &Value) -> Self {
        let room = tempfile::tempdir().unwrap();
        let base = room.path().canonicalize().unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        for (path, text) in told["files"].as_object().into_iter().flatten() {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.as_str().unwrap()).unwrap();
        }
        let variable = |name: &str, value: &str| (name.into(), value.into());
        let environment =
            Environment {
                // A story about rewritten lines names the program that runs them.
                program: told["program"].as_str().map(Into::into),
                variables: vec![
                    variable("HOME", base.join("home").to_str().unwrap()),
                    variable("SHELL", "/bin/bash"),
                ]
                .into_iter()
                .chain(told["environment"].as_object().into_iter().flatten().map(
                    |(name, value)| {
                        let root = project.to_str().unwrap();
                        variable(name, &value.as_str().unwrap().replace("ROOT", root))
                    },
                ))
                .collect(),
                at_ms: 1_000,
                ..Environment::at(Home::at(base.join("state")))
            };
        let story = Self {
            client,
            room,
            environment,
            workflow: told["workflow"].to_string(),
            answers: RefCell::default(),
        };
        match told["start"].as_str() {
            None => {}
            Some("policy") => {
                let own = story.project().join(".interlock");
                fs::create_dir_all(own.join("workflows")).unwrap();
                let hold = told["hold"].as_str().unwrap_or("run");
                let config = format!("workflow = \"told\"\nhold = \"{hold}\"\n");
                fs::write(own.join("config.toml"), config).unwrap();
                fs::write(own.join("workflows/told.json"), &story.workflow).unwrap();
            }
            Some(start) => story.begin(start == "session"),
        }
        story
    }

    fn project(&self) -> std::path::PathBuf {
        self.room.path().canonicalize().unwrap().join("project")
    }

    fn begin(&self, bound: bool) {
        let source = Source::new("told.json", &self.workflow);
        let loaded = load(&source, None, &NoWorkflows).unwrap();
        let project = self.project();
        let new = NewRun {
            machine: &loaded.machine,
            source: &SourceFile {
                name: source.name,
                text: source.text,
            },
            project_root: &project,
            name: None,
            durability: Durability::Process,
            at_ms: 1_000,
        };
        let home = &self.environment.home;
        let started = home.start_run(&new, Object::new(), "a person").unwrap();
        let run = started.log.run().clone();
        let bindings = home.lock_bindings().unwrap();
        if bound {
            let binding = interlock_store::Binding {
                run,
                session: SessionKey::of_any_client(SESSION),
                project_root: project,
                process: None,
                at_ms: 1_000,
            };
            bindings.bind(binding, None).unwrap();
        } else {
            bindings.wait_for_next(&run, &project, None).unwrap();
        }
    }

    fn hook(&self, step: &Value) -> Result<Value, String> {
        let session = step["session"].as_str().unwrap_or(SESSION);
        let snake = step["hook"].get("hook_event_name").is_some();
        let mut input = common(self.client, session, &self.project(), snake);
        for (key, value) in step["hook"].as_object().unwrap() {
            input[key] = value.clone();
        }
        input
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        let text = input
            .to_string()
            .replace("ROOT", self.project().to_str().unwrap());
        let through = step["through"].as_str().and_then(ClientId::named);
        let client = through.unwrap_or(self.client);
        let input = read(client, text.as_bytes(), step["argument"].as_str())?;
        let environment = Environment {
            client: Some(process(step["process"].as_str().unwrap_or(session))),
            ..self.environment.clone()
        };
        respond(&environment, &input)
    }

    fn transition(&self, event: &str, agent: Option<&str>) -> Reply {
        let home = &self.environment.home;
        let key = SessionKey::new(self.client.word(), SESSION);
        let Lookup::Bound(binding) = home.look_up(&key, &self.project()).unwrap() else {
            return Reply::Accepted;
        };
        let mut log = home.open_run(&binding.run).unwrap();
        let machine = log.machine().unwrap();
        let mut run = log.load().unwrap();
        let request = TransitionRequest {
            event: event.to_owned(),
            data: Object::new(),
            branch: None,
            agent: agent.map(Into::into),
            by: "agent".to_owned(),
            approved_by: None,
        };
        let command = Command {
            at_ms: 2_000,
            kind: CommandKind::Transition(request),
        };
        submit(&mut log, &machine, &mut run, &command)
            .unwrap()
            .reply
    }

    /// Reports the end of a call's line, as `interlock exec` would.
    fn end_line(&self, exit: i64, call: &str) {
        let start = CommandKind::StartLine(LineStart {
            call: call.into(),
            level: "files".to_owned(),
            unconfined: Vec::new(),
        });
        let end = CommandKind::EndLine(LineEnd {
            call: call.into(),
            path: FramePath::root(),
            exit: Some(exit),
            wrote: Vec::new(),
            commands: Vec::new(),
            unseen: true,
            checked: Default::default(),
        });
        self.submit([start, end]);
    }

    /// Submits commands to the run of the first session.
    fn submit<const N: usize>(&self, commands: [CommandKind; N]) {
        let home = &self.environment.home;
        let key = SessionKey::new(self.client.word(), SESSION);
        let Lookup::Bound(binding) = home.look_up(&key, &self.project()).unwrap() else {
            return;
        };
        let mut log = home.open_run(&binding.run).unwrap();
        let machine = log.machine().unwrap();
        let mut run = log.load().unwrap();
        for command in commands {
            let command = Command {
                at_ms: 2_000,
                kind: command,
            };
            submit(&mut log, &machine, &mut run, &command).unwrap();
        }
    }

    fn note(&self, step: &Value) -> Result<(), String> {
        let tool = step["note"].as_str().unwrap();
        let tool = control_tool(ClientId::ClaudeCode, &format!("mcp__interlock__{tool}")).unwrap();
        let digest = interlock_facts::control_digest(&step["arguments"]);
        let home = &self.environment.home;
        let note = home.take_note(tool, &digest, 1_000, |_| true).unwrap();
        let seen = note.map(
            |note| json!({"asked": note.asked, "guarded": note.run.is_some(), "agent": note.agent}),
        );
        let wanted = step.get("is").cloned().unwrap_or(Value::Null);
        fits(&wanted, &json!(seen))
            .then_some(())
            .ok_or_else(|| format!("the note is {seen:?}"))
    }

    fn take(&self, step: &Value) -> Result<(), String> {
        if step.get("note").is_some() {
            return self.note(step);
        }
        if let Some(files) = step["write"].as_object() {
            for (path, text) in files {
                fs::write(self.project().join(path), text.as_str().unwrap()).unwrap();
            }
            return Ok(());
        }
        if step.get("begin").is_some() {
            self.begin(false);
            return Ok(());
        }
        if let Some(by) = step["pause"].as_str() {
            let pause = CommandKind::Pause {
                by: by.to_owned(),
                reason: None,
            };
            self.submit([pause]);
            return Ok(());
        }
        if let Some(exit) = step["exit"].as_i64() {
            self.end_line(exit, step["call"].as_str().unwrap());
            return Ok(());
        }
        if let Some(event) = step["event"].as_str() {
            let reply = self.transition(event, step["agent"].as_str());
            self.say(&format!("{reply:?}"));
            let taken = matches!(reply, Reply::Accepted);
            return (taken == (step["taken"] != json!(false)))
                .then_some(())
                .ok_or_else(|| format!("the run replied {reply:?}"));
        }
        let answer = self.hook(step);
        self.say(&format!("{answer:?}"));
        match (answer, step.get("refused")) {
            (Err(why), Some(words)) if holds(words, &why) => Ok(()),
            (Ok(_), None) if step.get("answer").is_none() => Ok(()),
            (Ok(answer), None) if fits(&step["answer"], &answer) => Ok(()),
            (other, _) => Err(format!("the answer is {other:?}")),
        }
    }
}

/// Number of steps that are repeated.
const AGAIN: usize = 5;
/// Number of calls that are sent in other forms.
const VARIED: usize = 2;

impl Story {
    fn say(&self, text: &str) {
        let mut answers = self.answers.borrow_mut();
        answers.push_str(text);
        answers.push('\n');
    }

    /// Repeats some steps in another order; any answer is recorded.
    fn take_again(&self, steps: &[Value]) {
        for number in 0..AGAIN {
            let Some(step) = steps.get((number * 7 + 3) % steps.len().max(1)) else {
                return;
            };
            if step.get("hook").is_some() || step.get("event").is_some() {
                drop(self.take(step));
            }
        }
    }

    /// Sends some proposed calls in other forms; any answer is recorded.
    fn take_varied(&self, steps: &[Value]) {
        let calls: Vec<&Value> = steps
            .iter()
            .filter(|step| arguments(step).is_some())
            .collect();
        for number in 0..VARIED {
            let Some(step) = calls.get((number * 5 + 1) % calls.len().max(1)) else {
                return;
            };
            for (form, other) in varied(step).into_iter().enumerate() {
                self.say(&format!("form {form}"));
                drop(self.take(&other));
            }
        }
    }

    /// Returns the files left for `interlock exec` and for servers; of a plan, only the parts independent of the
    /// machine.
    fn left(&self, place: &str) -> String {
        let room = self.room.path().canonicalize().unwrap();
        let Ok(entries) = fs::read_dir(room.join("state").join(place)) else {
            return String::new();
        };
        let mut left: Vec<String> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .map(|path| {
                let text = fs::read_to_string(path).unwrap();
                let mut left: Value = serde_json::from_str(&text).unwrap();
                if let Some(plan) = left.pointer_mut("/plan").and_then(Value::as_object_mut) {
                    plan.remove("afterwards");
                }
                format!("{place} {left}\n")
            })
            .collect();
        // Their names are random.
        left.sort();
        left.concat()
    }

    /// Returns all answers and records, without the parts that differ between runs of the test.
    fn told(self) -> String {
        let runs = self.environment.home.list_runs().unwrap();
        let mut ids: Vec<String> = Vec::new();
        let mut told: Vec<String> = Vec::new();
        for run in &runs {
            ids.push(run.id.to_string());
            let log = self.environment.home.open_run(&run.id).unwrap();
            let events = log.events(0).map(|recorded| recorded.unwrap().event);
            let lines = events.map(|event| {
                let mut event = serde_json::to_value(event).unwrap();
                shorten(&mut event);
                format!("{event}\n")
            });
            told.push(lines.collect::<String>().replace(run.id.as_str(), "RUN"));
        }
        // Runs of the same moment have no defined order.
        told.sort();
        let logs = told.concat() + &self.left("tickets") + &self.left("notes");
        let root = self.room.path().canonicalize().unwrap();
        let mut text = self.answers.into_inner() + &logs;
        for id in ids {
            text = text.replace(&id, "RUN");
        }
        let text = text.replace(&format!("-{}", std::process::id()), "-PID");
        without_chance(&text.replace(root.to_str().unwrap(), "ROOM"))
    }
}

/// Returns the field with the arguments of a call in a hook's input.
fn arguments(step: &Value) -> Option<&'static str> {
    let fields = ["tool_input", "toolArgs", "args"];
    fields
        .into_iter()
        .find(|field| step["hook"].get(field).is_some_and(Value::is_object))
}

/// Returns a call in other forms: in another directory, by a sub-agent, without the client's knowledge, in another
/// mode, and malformed twice.
fn varied(step: &Value) -> Vec<Value> {
    let Some(field) = arguments(step) else {
        return Vec::new();
    };
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut other = json!({"hook": step["hook"], "session": step["session"]});
        other
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        change(&mut other["hook"]);
        other
    };
    let with = |name: &'static str, value: Value| {
        changed(&move |hook: &mut Value| hook[field][name] = value.clone())
    };
    let mut all = vec![
        with("workdir", json!("src")),
        with("directory", json!("src")),
        with("dir_path", json!("src")),
        with("working_directory", json!("src")),
        with("run_in_background", json!(true)),
        with("command", json!("ls src; touch a > b")),
        with("file_path", json!("../other")),
        changed(&|hook| {
            hook["agent_id"] = json!("helper");
            hook["agent_type"] = json!("helper");
        }),
        changed(&|hook| {
            // Arguments that are not an object, and a name that only looks like another.
            for name in ["tool_name", "toolName", "tool"] {
                if let Some(Value::String(tool)) = hook.get_mut(name) {
                    tool.push('\u{200b}');
                }
            }
            hook[field] = json!([]);
        }),
    ];
    for mode in ["plan", "bypassPermissions", "acceptEdits"] {
        all.push(changed(&|hook| hook["permission_mode"] = json!(mode)));
    }
    all
}

/// Removes texts that are cut where the name of the room ends.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.ends_with("...") => *text = "...".to_owned(),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(keys) => keys.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns the fields common to every input of a client.
fn common(client: ClientId, session: &str, project: &Path, snake: bool) -> Value {
    match client {
        ClientId::ClaudeCode | ClientId::Codex => {
            json!({"session_id": session, "cwd": project, "permission_mode": "default"})
        }
        ClientId::Gemini => json!({"session_id": session, "cwd": project}),
        ClientId::Copilot if snake => json!({"session_id": session, "cwd": project}),
        ClientId::Copilot => json!({"sessionId": session, "cwd": project, "timestamp": 1}),
        ClientId::Cursor => json!({
            "conversation_id": session,
            "generation_id": "g1",
            "cursor_version": "3.9.16",
            "workspace_roots": [project],
        }),
        ClientId::Opencode => json!({"session": session, "directory": project}),
    }
}

fn holds(words: &Value, text: &str) -> bool {
    let mut words = words.as_array().into_iter().flatten();
    words.all(|word| text.contains(word.as_str().unwrap()))
}

/// Compares an answer with the expected one, key by key.
fn fits(wanted: &Value, answer: &Value) -> bool {
    match (wanted, answer) {
        (Value::Object(wanted), Value::String(text)) if wanted.contains_key("holds") => {
            holds(&wanted["holds"], text)
        }
        (Value::Object(wanted), Value::Object(answer)) => {
            wanted.len() == answer.len()
                && wanted
                    .iter()
                    .all(|(key, value)| answer.get(key).is_some_and(|found| fits(value, found)))
        }
        (wanted, answer) => wanted == answer,
    }
}

fn story(path: &Path) -> datatest_stable::Result<()> {
    let told: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let client = path.parent().and_then(Path::file_name).unwrap();
    let client = ClientId::named(client.to_str().unwrap()).unwrap();
    let story = Story::new(client, &told);
    for (index, step) in told["steps"].as_array().unwrap().iter().enumerate() {
        story
            .take(step)
            .map_err(|why| format!("step {}: {why}\nof {step}", index + 1))?;
    }
    story.take_again(told["steps"].as_array().unwrap());
    story.take_varied(told["steps"].as_array().unwrap());
    let file = path.file_name().unwrap().to_str().unwrap();
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.txt");
    let told = story.told();
    // If the kernel cannot confine anything, some shell lines are answered differently.
    if interlock_confine::kernel_holds() {
        compare_one(&list, &format!("{}/{file}", client.word()), &told)?;
    }
    Ok(())
}

// One root, so that a test's name contains the client.
datatest_stable::harness! {
    {
        test = story,
        root = "tests",
        pattern = r"^(claude-code|codex|copilot|cursor|gemini|opencode)/[^/]+\.json$",
    },
}
