//! A project with a pipeline, and a scripted provider for its stages.

use std::{
    fmt::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use interlock_testkit::{
    provider::{Provider, Reply, Script, call, text},
    room::Room,
};
use serde_json::json;

use crate::memory;

/// The file that the cheap tool reads.
pub(super) const FILE: (&str, &str) = ("src/main.rs", "fn main() {}\n");
/// The tool that ends a stage.
pub(super) const COMPLETION: &str = "submit";

pub(super) struct StageRoom {
    room: Room,
    provider: Provider,
    /// Total number of the models' messages.
    messages: usize,
}

/// Returns the model's answers in a stage with this many messages: calls of the cheap tool, then the completion.
pub(super) fn script(turns: usize) -> Script {
    Script::new(move |asked| {
        if asked.turn + 1 < turns {
            let read = call("Read", json!({"file_path": FILE.0}));
            Reply::say(vec![text("I read on."), read])
        } else {
            Reply::say(vec![call(COMPLETION, json!({"ok": true}))])
        }
    })
}

fn stage(name: &str, turns: usize, next: &str) -> String {
    format!(
        "  {name}: {{body: work, allowedTools: [Read], completionTool: {COMPLETION}, completionSchema: {{}}, turnCap: {turns}, next: {next}}}\n"
    )
}

/// Returns a pipeline of one stage.
pub(super) fn alone(turns: usize) -> Result<StageRoom> {
    StageRoom::new(
        &format!("stages:\n{}", stage("A", turns, "end")),
        turns,
        turns,
    )
}

/// Returns a pipeline of stages in a row, one for each name.
pub(super) fn in_a_row(names: &[&str], turns: usize) -> Result<StageRoom> {
    let mut text = "stages:\n".to_owned();
    for (at, name) in names.iter().enumerate() {
        let next = names.get(at + 1).copied().unwrap_or("end");
        text.push_str(&stage(name, turns, next));
    }
    StageRoom::new(&text, turns, names.len() * turns)
}

/// Returns a pipeline with one stage followed by this many concurrent ones.
pub(super) fn fork(branches: usize, turns: usize) -> Result<StageRoom> {
    let names: Vec<String> = (0..branches).map(|at| format!("B{at}")).collect();
    let next = format!("{{parallel: [{}], join: Z}}", names.join(", "));
    // The provider gives the same answers in each stage; the longest transcript determines the turn.
    let mut text = "settings: {parallelStageCap: 64, stageExecutions: 200}\nstages:\n".to_owned();
    text.push_str(&stage("A", turns, &next));
    for name in &names {
        text.push_str(&stage(name, turns, "Z"));
    }
    text.push_str(&stage("Z", turns, "end"));
    StageRoom::new(&text, turns, (branches + 2) * turns)
}

impl StageRoom {
    fn new(pipeline: &str, turns: usize, messages: usize) -> Result<Self> {
        let room = Room::new()?;
        room.write(FILE.0, FILE.1)?;
        let mut workflow = "id: bench\n".to_owned();
        write!(workflow, "{pipeline}")?;
        room.write("flow.yaml", &workflow)?;
        let provider = Provider::start(script(turns))?;
        Ok(Self {
            room,
            provider,
            messages,
        })
    }

    pub(super) fn url(&self) -> String {
        self.provider.url()
    }

    /// Returns a command for a program in the project.
    pub(super) fn command(&self, program: &str) -> Command {
        self.room.command(program)
    }

    /// Returns a command for a process with the call as its only child.
    pub(super) fn parent_of(&self, call: &[&str]) -> Result<Command> {
        memory::parent_of(&self.room, call)
    }

    /// Returns a path for a file outside the project.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.room.path(name)
    }

    /// Runs the pipeline to its end and returns the time of the whole process.
    pub(super) fn run(&self, interlock: &str) -> Result<Duration> {
        let mut command = self.room.command(interlock);
        command.args(ARGUMENTS);
        let begun = Instant::now();
        let output = self.provided(&mut command).output()?;
        let took = begun.elapsed();
        ensure!(output.status.success(), "{output:?}");
        self.check()?;
        Ok(took)
    }

    /// Runs the pipeline to its end and returns the peak memory of the process, in KiB.
    pub(super) fn peak(&self, interlock: &str) -> Result<u32> {
        let mut call = vec![interlock];
        call.extend(ARGUMENTS);
        let mut parent = self.parent_of(&call)?;
        let peak = memory::reported(self.provided(&mut parent))?;
        self.check()?;
        Ok(peak)
    }

    fn provided<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("ANTHROPIC_BASE_URL", self.url())
            .env("ANTHROPIC_API_KEY", "a-key")
            .stdin(Stdio::null())
    }

    /// Fails unless every message was requested exactly once.
    pub(super) fn check(&self) -> Result<()> {
        let asked = self.provider.asked().len();
        ensure!(
            asked == self.messages,
            "{asked} requests, not {}",
            self.messages
        );
        Ok(())
    }
}

const ARGUMENTS: [&str; 6] = [
    "run",
    "flow.yaml",
    "it",
    "--headless",
    "--model",
    "anthropic/scripted",
];
