//! Plays a case in a room of its own, and returns what differs from it.

use std::{
    fs,
    process::{Command, Stdio},
};

use interlock_testkit::{
    provider::Provider as Server,
    room::Room,
    sample,
    terminal::{self, Terminal},
};
use serde_json::Value;

use crate::model_runs::{
    case::{Case, Press, Provider, Step},
    check,
    script::Models,
};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Plays case `number` with today's provider, and returns every difference.
///
/// The provider changes from day to day; with `INTERLOCK_WHOLE=1` the case is played with each.
pub(crate) fn with_todays_providers(case: &Case, number: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let all = case.providers.iter().enumerate();
    let parts = case.providers.len();
    for (_, provider) in all.filter(|(at, _)| sample::has(number + at, parts)) {
        let found = Place::new(case, *provider).play(case);
        wrong.extend(found.iter().map(|found| format!("{provider:?}: {found}")));
    }
    wrong
}

/// A project with a workflow, and a provider for its models.
struct Place {
    room: Room,
    server: Server,
    models: Models,
    provider: Provider,
    token: String,
}

/// Output and exit code of a command.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    fn new(case: &Case, provider: Provider) -> Self {
        let room = Room::new().unwrap();
        room.write("flow.yaml", &case.flow()).unwrap();
        for (path, text) in &case.files {
            room.write(path, text).unwrap();
        }
        for (name, body) in &case.programs {
            let script = room.script(&format!("bin/{}", name.trim_start_matches("./")), body);
            if name.starts_with("./") {
                fs::rename(script.unwrap(), room.project().join(name)).unwrap();
            }
        }
        let name = match provider {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
        };
        let project = room.project().canonicalize().unwrap();
        let config = case.config.replace("PROJECT", &project.to_string_lossy());
        let config = format!("default_model = \"{name}/scripted\"\n{config}");
        let directory = room.config().join("interlock");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("config.toml"), config).unwrap();
        let token = if case.steps.iter().any(|step| step.person) {
            let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
            let text = String::from_utf8(shown.stdout).unwrap();
            text.lines().last().unwrap_or_default().to_owned()
        } else {
            String::new()
        };
        let models = Models::new(&case.models);
        Self {
            server: Server::start(models.script()).unwrap(),
            room,
            models,
            provider,
            token,
        }
    }

    fn play(&self, case: &Case) -> Vec<String> {
        let mut wrong = Vec::new();
        for (at, step) in case.steps.iter().enumerate() {
            for (path, text) in &step.files {
                match text {
                    Some(text) => drop(self.room.write(path, text).unwrap()),
                    None => fs::remove_file(self.room.project().join(path)).unwrap(),
                }
            }
            let said = self.give(step);
            let mut found = differences(step, &said);
            let requests = self.server.asked().len();
            if step.requests.is_some_and(|wanted| wanted != requests) {
                found.push(format!("{requests} requests so far"));
            }
            if !found.is_empty() {
                let found = found.join("; ");
                wrong.push(format!("step {}: {found}\n{}", at + 1, shown(&said)));
            }
        }
        wrong.extend(self.models.wrong());
        wrong.extend(self.recorded(case));
        for (path, wanted) in &case.left {
            let found = self.room.read(path);
            if found != *wanted {
                wrong.push(format!("`{path}` is {found:?}"));
            }
        }
        wrong
    }

    fn give(&self, step: &Step) -> Said {
        let arguments: Vec<&str> = step.args.iter().map(String::as_str).collect();
        let mut command = self.command(&arguments);
        if step.person {
            command.env("INTERLOCK_TOKEN", &self.token);
        }
        if step.tree {
            command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        }
        match &step.terminal {
            Some(presses) => at_terminal(&command, presses),
            None => said(&mut command),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.room.command(INTERLOCK);
        command.args(arguments).stdin(Stdio::null());
        // Proxies that nobody listens at: requests to a model of this machine must not use them.
        command.env("HTTP_PROXY", "http://127.0.0.1:9");
        command.env("ALL_PROXY", "http://127.0.0.1:9");
        let url = self.server.url();
        match self.provider {
            Provider::Anthropic => command
                .env("ANTHROPIC_BASE_URL", url)
                .env("ANTHROPIC_API_KEY", "a-key"),
            Provider::OpenAi => command
                .env("OPENAI_BASE_URL", format!("{url}/v1"))
                .env("OPENAI_API_KEY", "a-key"),
        };
        command
    }

    /// Compares what the run recorded with what the case expects.
    fn recorded(&self, case: &Case) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Some(wanted) = &case.status {
            let said = said(&mut self.command(&["status", "n", "--json"]));
            let found: Value = serde_json::from_str(&said.out).unwrap_or_default();
            if !check::fits(wanted, &found) {
                wrong.push(format!("its status is {found}"));
            }
        }
        if case.log.is_empty() && case.log_lacks.is_empty() && case.count.is_empty() {
            return wrong;
        }
        let said = said(&mut self.command(&["log", "n", "--json"]));
        let lines = said.out.lines();
        let events: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        if let Some(pattern) = check::missing(&case.log, &events) {
            let short: Vec<String> = events.iter().map(short).collect();
            wrong.push(format!(
                "the log lacks {pattern} at its place:\n{}",
                short.join("\n")
            ));
        }
        if let Some(event) = check::unwanted(&case.log_lacks, &events) {
            wrong.push(format!("the log has {event}"));
        }
        for (name, wanted) in &case.count {
            let found = events
                .iter()
                .filter(|event| event["event"] == name.as_str());
            let found = found.count();
            if found != *wanted {
                wrong.push(format!("the log has {found} of `{name}`"));
            }
        }
        wrong
    }
}

fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a command at a terminal; the last screen counts as its standard error.
fn at_terminal(command: &Command, presses: &[Press]) -> Said {
    let mut terminal = Terminal::start(command, 60, 200).unwrap();
    for press in presses {
        let seen = terminal.wait_for(&press.see, |screen| screen.contains(&press.see));
        if let Err(error) = seen {
            return Said {
                code: None,
                out: String::new(),
                err: error.to_string(),
            };
        }
        terminal.press(&press.typed).unwrap();
    }
    let status = terminal.end().unwrap();
    Said {
        code: status.code(),
        out: String::new(),
        err: terminal.screen(),
    }
}

fn differences(step: &Step, said: &Said) -> Vec<String> {
    let mut wrong = Vec::new();
    if said.code != Some(step.exit) {
        wrong.push(format!("ended with {:?}, not {}", said.code, step.exit));
    }
    if let Some(wanted) = &step.out
        && *wanted != said.out
    {
        wrong.push(format!("printed {:?}", said.out));
    }
    if let Some(wanted) = &step.out_json {
        let found: Value = serde_json::from_str(&said.out).unwrap_or_default();
        if !check::fits(wanted, &found) {
            wrong.push(format!("printed {:?}", said.out));
        }
    }
    let all = format!("{}{}", said.out, said.err);
    let lacking = step.has.iter().filter(|part| !all.contains(*part));
    wrong.extend(lacking.map(|part| format!("it does not say {part:?}")));
    let there = step.lacks.iter().filter(|part| all.contains(*part));
    wrong.extend(there.map(|part| format!("it says {part:?}")));
    wrong
}

/// Formats an event in short, without times, hashes and ids.
fn short(event: &Value) -> String {
    let mut event = event.clone();
    if let Some(members) = event.as_object_mut() {
        for key in ["at", "at_ms", "hash", "prev", "run"] {
            members.shift_remove(key);
        }
    }
    event.to_string().chars().take(300).collect()
}

fn shown(said: &Said) -> String {
    let lines = |text: &str| -> String {
        let lines = text.lines().take(40);
        lines.map(|line| format!("    {line}\n")).collect()
    };
    format!("{}    ----\n{}", lines(&said.out), lines(&said.err))
}
