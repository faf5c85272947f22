//! The measurements of the peers, as printed by scripts beside their packages.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{BEHIND, EACH, RUNS, STEPS};

/// The measurements of one program.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) version: String,
    /// Steps a second of a single run.
    pub(crate) one: f64,
    /// Steps a second over many concurrent runs.
    pub(crate) many: f64,
    pub(crate) resume_ms: f64,
}

impl Found {
    /// Returns the median of each number.
    pub(crate) fn median(found: Vec<Self>) -> Self {
        let middle = |number: fn(&Self) -> f64| {
            let mut all: Vec<f64> = found.iter().map(number).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
        };
        let version = found.first().map(|one| one.version.clone());
        Self {
            version: version.unwrap_or_default(),
            one: middle(|found| found.one),
            many: middle(|found| found.many),
            resume_ms: middle(|found| found.resume_ms),
        }
    }
}

/// Another program that runs durable workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    LangGraph,
    Dbos,
    Restate,
}

impl Peer {
    pub(crate) const ALL: [Self; 3] = [Self::LangGraph, Self::Dbos, Self::Restate];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::LangGraph => "LangGraph (SQLite)",
            Self::Dbos => "DBOS (SQLite)",
            Self::Restate => "Restate",
        }
    }

    /// Returns the factor by which ours must be faster.
    pub(crate) const fn bar(self) -> f64 {
        match self {
            Self::LangGraph | Self::Dbos => 3.0,
            Self::Restate => 1.0,
        }
    }

    /// Runs the script of this peer, installed in `folder`, with a new store.
    pub(crate) fn measured(self, folder: &Path, durability: &str) -> Result<Found> {
        let place = tempfile::tempdir()?;
        let call = |more: &[&str]| -> Result<Value> {
            let mut command = self.command(folder);
            command.args(["--durability", durability, "--directory"]);
            command.arg(place.path());
            // A killed server leaves temporary folders behind.
            command.env("TMPDIR", place.path());
            for (name, count) in [
                ("--steps", STEPS),
                ("--runs", RUNS as u64),
                ("--each", EACH),
                ("--behind", BEHIND),
            ] {
                command.args([name, &count.to_string()]);
            }
            printed(command.args(more))
        };
        let first = call(&[])?;
        // The peer in a single process has measured this already; the others are killed and called again.
        let again = match first.get("resume_ms") {
            Some(_) => first.clone(),
            None => call(&["--resume"])?,
        };
        let number = |value: &Value, name: &str| -> Result<f64> {
            let number = value.get(name).and_then(Value::as_f64);
            number.with_context(|| format!("no `{name}` in {value}"))
        };
        let version = first.get("version").and_then(Value::as_str);
        Ok(Found {
            version: version.unwrap_or_default().to_owned(),
            one: number(&first, "one")?,
            many: number(&first, "many")?,
            resume_ms: number(&again, "resume_ms")?,
        })
    }

    fn command(self, folder: &Path) -> Command {
        let (program, script) = match self {
            Self::LangGraph => ("python3", "langgraph_steps.py"),
            Self::Dbos => ("python3", "dbos_steps.py"),
            Self::Restate => ("node", "restate_steps.mjs"),
        };
        let mut command = Command::new(program);
        command.arg(script).current_dir(folder);
        command.env("PYTHONPATH", folder.join("python"));
        command
    }
}

/// Runs a script and parses the line of JSON that it prints.
fn printed(command: &mut Command) -> Result<Value> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON"))
}
