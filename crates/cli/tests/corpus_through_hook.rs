//! The conformance corpus again, now through the real hook as a process.
//!
//! The corpus's tool calls are sent to `interlock hook CLIENT`, with that client's tools and names; everything else
//! goes through the command line. Claude Code gets all of it, each other client its share of the files: both get every
//! twelfth file, and the others on the next days; `cargo xtask soak` plays all. Not included is what a hook cannot be
//! told: branches of a tool call, tools of another client, activities, and paths that only a simulation reports;
//! CodeMie files; and for each client what it does not report.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

mod clients;

use interlock_clients::ClientId;
use interlock_core::{
    command::{Command, CommandKind, LineEnd, LineStart},
    event::ProbedCommand,
};
use interlock_sandbox::Level;
use interlock_simulate::{
    GivenReports, InputLine,
    cases::{Case, CaseFile, WorkflowText, find_case_files},
    input::{AnswerLine, ResultLine, ToolLine, TransitionLine},
};
use interlock_store::{EventLog as _, Home, submit};
use interlock_testkit::{interlock::Interlock, room::Room, sample, terminal};
use serde_json::{Map, Value, json};

use clients::{Speaks as _, Telling};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKERS: usize = 4;
/// One in this many files is played.
const PLAYED: usize = 12;
/// With fewer, the corpus would not be played here.
const PLAYED_MIN: usize = 25;
/// The same for each other client.
const SAMPLED_MIN: usize = 2;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_hook_answers_as_the_engine_does() {
    let files = files();
    let todays = files.iter().enumerate();
    let todays = todays.filter(|(index, _)| sample::has(*index, PLAYED));
    let todays: Vec<&PathBuf> = todays.map(|(_, file)| file).collect();
    let played = play(&todays, ClientId::ClaudeCode);
    assert!(played >= PLAYED_MIN, "only {played} cases were played");
}

#[test]
fn the_hook_of_every_other_client_answers_alike() {
    let files = files();
    let others: Vec<ClientId> = ClientId::ALL
        .iter()
        .map(|(_, client)| *client)
        .filter(|client| *client != ClientId::ClaudeCode)
        .collect();
    for (turn, client) in others.iter().enumerate() {
        let own = |(index, _): &(usize, &PathBuf)| {
            index % others.len() == turn && sample::has(index / others.len(), PLAYED)
        };
        let files: Vec<&PathBuf> = files
            .iter()
            .enumerate()
            .filter(own)
            .map(|(_, file)| file)
            .collect();
        let played = play(&files, *client);
        assert!(played >= SAMPLED_MIN, "{client:?}: only {played} cases");
    }
}

fn files() -> Vec<PathBuf> {
    let mut files = find_case_files(&root().join("tests/cases")).unwrap();
    files.extend(find_case_files(&root().join("workflows")).unwrap());
    // CodeMie files contain no agent with hooks.
    let codemie = root().join("tests/cases/codemie");
    files.retain(|file| !file.starts_with(&codemie));
    files
}

/// Plays the cases in these files through the hook of `client`; returns their number.
fn play(files: &[&PathBuf], client: ClientId) -> usize {
    let next = AtomicUsize::new(0);
    let played = AtomicUsize::new(0);
    let failures: Vec<String> = thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (count, mut wrong) = play_file(file, client);
                played.fetch_add(count, Ordering::Relaxed);
                failures.append(&mut wrong);
            }
            failures
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    let played = played.into_inner();
    assert!(
        failures.is_empty(),
        "{client:?}: {} of {played} cases:\n{}",
        failures.len(),
        failures.join("\n")
    );
    played
}

fn play_file(path: &Path, client: ClientId) -> (usize, Vec<String>) {
    let file = CaseFile::parse(&fs::read_to_string(path).unwrap()).unwrap();
    let text = match &file.workflow {
        WorkflowText::Inline(text) => text.clone(),
        WorkflowText::File(relative) => fs::read_to_string(path.with_file_name(relative)).unwrap(),
    };
    let ending = match &file.workflow {
        WorkflowText::File(relative) if relative.ends_with(".json") => "json",
        _ => "yaml",
    };
    let playable: Vec<&Case> = file
        .cases
        .iter()
        .filter(|case| is_playable(case, client) && client.tells(&text, case))
        .collect();
    let mut failures = Vec::new();
    for case in &playable {
        if let Err(wrong) = Play::begin(&text, ending, client).run(case) {
            failures.push(format!(
                "{}: {}: {wrong}",
                path.strip_prefix(root()).unwrap().display(),
                case.name
            ));
        }
    }
    (playable.len(), failures)
}

/// Returns whether a hook can be told every step of a case.
fn is_playable(case: &Case, client: ClientId) -> bool {
    // Real hooks use the real kernel.
    let holds = interlock_confine::kernel_holds();
    let level_fits = case
        .level
        .is_none_or(|level| (level >= Level::Files) == holds);
    level_fits
        && case.steps.iter().all(|step| match &step.line {
            InputLine::Tool(line) => {
                let control = line.tool.starts_with("mcp__interlock__");
                // Calls are reported one at a time here.
                line.branch.is_none()
                    && line.id.is_none()
                    && !control
                    && line
                        .client
                        .as_deref()
                        .is_none_or(|named| named == client.word())
            }
            InputLine::Result(line) => line.wrote.is_empty() && (line.ok || line.bytes == 0),
            // A sub-agent requests transitions through the server, which is not used here.
            InputLine::Transition(line) => line.agent.is_none(),
            // A passkey signs in the console only.
            InputLine::Approve(line) => !line.passkey,
            InputLine::Reject(_)
            | InputLine::Pause
            | InputLine::Resume
            | InputLine::Cancel
            | InputLine::State => true,
            InputLine::Activity(_)
            | InputLine::Advance(_)
            | InputLine::Message(_)
            | InputLine::Finish
            | InputLine::LineStarted(_)
            | InputLine::LineEnded(_)
            | InputLine::Stopped(_) => false,
        })
}

/// A case in progress: a room with one run and one session.
struct Play {
    client: ClientId,
    room: Room,
    run: String,
    token: String,
    calls: usize,
    /// The allowed call whose outcome has not been reported.
    open: Option<ToolLine>,
    /// The input that the client would run instead, if `interlock exec` runs its line.
    carried: Option<Value>,
    /// The reports given by outcomes.
    reports: RefCell<GivenReports>,
}

impl Play {
    fn begin(workflow: &str, ending: &str, client: ClientId) -> Self {
        let room = Room::new().unwrap();
        client.prepare(&room);
        let name = format!("workflow.{ending}");
        fs::write(room.path(&name), workflow).unwrap();
        let path = room.path(&name);
        let run = Interlock::new(INTERLOCK, &room)
            .start_for_session(path.to_str().unwrap(), "session")
            .unwrap();
        let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
        let token = String::from_utf8(shown.stdout)
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .to_owned();
        Self {
            client,
            room,
            run,
            token,
            calls: 0,
            open: None,
            carried: None,
            reports: RefCell::default(),
        }
    }

    fn run(mut self, case: &Case) -> Result<(), String> {
        for (index, step) in case.steps.iter().enumerate() {
            let answer = self.step(&step.line);
            let expect = Value::Object(step.expect.clone());
            if let Some(difference) = difference(&expect, &answer) {
                return Err(format!("step {}: {}: {difference}", index + 1, step.shown));
            }
        }
        Ok(())
    }

    fn step(&mut self, line: &InputLine) -> Value {
        if !matches!(line, InputLine::Result(_) | InputLine::State) {
            self.tell_outcome(&ResultLine::default());
        }
        match line {
            InputLine::Tool(line) => self.propose(line),
            InputLine::Result(line) => {
                self.tell_outcome(line);
                self.status()
            }
            InputLine::Transition(line) => self.transition(line),
            InputLine::Approve(line) => self.answer("approve", line),
            InputLine::Reject(line) => self.answer("reject", line),
            InputLine::Pause => self.person(&["pause", &self.run.clone()]),
            InputLine::Resume => self.person(&["resume", &self.run.clone()]),
            InputLine::Cancel => self.person(&["cancel", &self.run.clone()]),
            _ => self.status(),
        }
    }

    fn propose(&mut self, line: &ToolLine) -> Value {
        for (path, text) in &line.files {
            self.room.write(path, text).unwrap();
        }
        self.calls += 1;
        let answer = self.hook(&Telling::Before, line);
        let mut seen = self.status();
        self.carried = self.client.carried(&answer);
        let (verdict, reason) = match &self.carried {
            // The client decides itself whether to ask before it runs a rewritten line.
            Some(_) => ("allow", String::new()),
            None => self.client.verdict(&answer),
        };
        if verdict == "allow" {
            self.open = Some(line.clone());
        }
        let code = reason
            .split_once(": ")
            .map_or(Value::Null, |(code, _)| json!(code));
        seen["ok"] = json!(verdict != "deny");
        seen["verdict"] = json!(verdict);
        seen["code"] = code;
        seen["message"] = json!(reason);
        seen
    }

    /// Reports the end of the last allowed call to the hook.
    fn tell_outcome(&mut self, line: &ResultLine) {
        let Some(tool) = self.open.take() else { return };
        let exit = line.exit.unwrap_or(0);
        let mut tool = tool;
        if let Some(input) = self.carried.take() {
            self.end_line(&tool, &input, line);
            tool.input = input;
        }
        let bytes = usize::try_from(line.bytes).unwrap();
        let telling = Telling::After {
            ok: line.ok,
            exit,
            text: "x".repeat(bytes),
        };
        self.hook(&telling, &tool);
    }

    /// Does everything that `interlock exec` does after running a line.
    fn end_line(&self, tool: &ToolLine, input: &Value, result: &ResultLine) {
        let exit = i64::from(!result.ok).max(result.exit.unwrap_or(0));
        let carried = input["command"].as_str().unwrap();
        let line_said = self.client.plain(tool);
        let (_, ticket) = carried.split_once(" exec --ticket ").unwrap();
        let (ticket, _) = ticket.split_once(" -- ").unwrap();
        let home = Home::at(self.room.state().join("interlock"));
        let line = line_said["command"].as_str().unwrap();
        let at_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_millis();
        let at_ms = u64::try_from(at_ms).unwrap();
        let ticket = home.take_ticket(ticket, line, at_ms).unwrap();
        let mut log = home.open_run(&ticket.run).unwrap();
        let machine = log.machine().unwrap();
        let mut run = log.load().unwrap();
        let start = CommandKind::StartLine(LineStart {
            call: ticket.call.clone(),
            level: "files".to_owned(),
            unconfined: Vec::new(),
        });
        let checked = self.reports.borrow_mut().checked(
            (&machine, &run),
            Some(ticket.call.as_str()),
            &result.reports,
            &result.frozen,
        );
        let end = CommandKind::EndLine(LineEnd {
            call: ticket.call,
            path: ticket.path,
            exit: ticket.proves.then_some(exit),
            wrote: Vec::new(),
            commands: probed(line, &ticket.plan["probes"], result),
            unseen: true,
            checked,
        });
        for command in [start, end] {
            submit(
                &mut log,
                &machine,
                &mut run,
                &Command {
                    at_ms,
                    kind: command,
                },
            )
            .unwrap();
        }
    }

    fn hook(&self, telling: &Telling, line: &ToolLine) -> Value {
        let call = format!("call-{}", self.calls);
        let said = self.client.says(telling, line, &self.room, &call);
        let output = Interlock::new(INTERLOCK, &self.room)
            .hook_of(
                self.client.word(),
                said.argument,
                &said.input,
                self.client.variables(),
            )
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn transition(&self, line: &TransitionLine) -> Value {
        let data = Value::Object(line.data.clone()).to_string();
        let mut arguments = vec!["send", &line.event, "--run", &self.run, "--data", &data];
        if let Some(branch) = &line.branch {
            arguments.extend(["--branch", branch]);
        }
        self.person(&arguments)
    }

    fn answer(&self, word: &str, line: &AnswerLine) -> Value {
        let data = Value::Object(line.data.clone()).to_string();
        let mut arguments = vec![word, &self.run];
        arguments.extend(line.path.as_deref());
        if word == "approve" {
            arguments.extend(["--data", &data]);
        }
        if let Some(note) = &line.note {
            arguments.extend(["--note", note]);
        }
        self.person(&arguments)
    }

    fn person(&self, arguments: &[&str]) -> Value {
        let output = self
            .room
            .command(INTERLOCK)
            .args(arguments)
            .arg("--json")
            .env("INTERLOCK_TOKEN", &self.token)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        parsed(&output)
    }

    fn status(&self) -> Value {
        let mut status = parsed(
            &self
                .room
                .command(INTERLOCK)
                .args(["status", &self.run, "--json"])
                .output()
                .unwrap(),
        );
        status["ok"] = json!(true);
        status["code"] = Value::Null;
        status
    }
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Keys that only a simulation prints, or words differently.
const OF_SIMULATION: [&str; 3] = ["log", "effects", "message"];

/// Returns where `seen` differs from the expected value; objects match partially.
fn difference(expect: &Value, seen: &Value) -> Option<String> {
    let expected: &Map<String, Value> = expect.as_object()?;
    expected
        .iter()
        .filter(|(key, _)| !OF_SIMULATION.contains(&key.as_str()))
        .find_map(|(key, wanted)| {
            match key.as_str() {
                "message_contains" => return None,
                "context_lacks" => return still_there(wanted, &seen["context"]),
                _ => {}
            }
            (!matches(wanted, &seen[key]))
                .then(|| format!("`{key}` is {}, wanted {wanted}", seen[key]))
        })
}

/// The first of the `wanted` keys that the context has.
fn still_there(wanted: &Value, context: &Value) -> Option<String> {
    let one = std::slice::from_ref(wanted);
    let mut keys = wanted.as_array().map_or(one, Vec::as_slice).iter();
    let key = keys.find(|key| {
        let pointer = key.as_str().unwrap_or_default().replace('.', "/");
        context.pointer(&format!("/{pointer}")).is_some()
    })?;
    Some(format!("the context still has {key}"))
}

fn matches(wanted: &Value, seen: &Value) -> bool {
    match (wanted, seen) {
        (Value::Object(wanted), Value::Object(seen)) => wanted
            .iter()
            .all(|(key, wanted)| seen.get(key).is_some_and(|seen| matches(wanted, seen))),
        (Value::Array(wanted), Value::Array(seen)) => {
            wanted.len() == seen.len()
                && wanted
                    .iter()
                    .zip(seen)
                    .all(|(wanted, seen)| matches(wanted, seen))
        }
        (Value::Number(wanted), Value::Number(seen)) => {
            interlock_expr::number::compare(wanted, seen) == Some(std::cmp::Ordering::Equal)
        }
        _ => wanted == seen,
    }
}

/// Returns the observations of a line's probes, by the places in its plan.
fn probed(line: &str, places: &Value, result: &ResultLine) -> Vec<ProbedCommand> {
    let mut probed: Vec<ProbedCommand> = Vec::new();
    for (nth, end) in result.commands.iter().enumerate() {
        let before = &result.commands[..nth];
        let before = before.iter().filter(|other| other.text == end.text).count();
        let of_it: Vec<usize> = places
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|place| place["start"].as_u64())
            .map(|at| usize::try_from(at).unwrap())
            .filter(|at| {
                line.get(*at..)
                    .is_some_and(|rest| rest.starts_with(&end.text))
            })
            .collect();
        let Some(at) = of_it.get(before).or(of_it.last()) else {
            continue;
        };
        match probed.iter_mut().find(|known| known.at == *at) {
            Some(known) => known.exits.push(end.exit),
            None => probed.push(ProbedCommand {
                at: *at,
                exits: vec![end.exit],
            }),
        }
    }
    probed
}
