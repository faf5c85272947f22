//! Compares three stages in a row with the same in LangGraph.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::place::{self, StageRoom};
use crate::{
    arguments::Arguments,
    memory,
    sample::median,
    table::{Table, ratio, shown},
};

const STAGES: [&str; 3] = ["Plan", "Execute", "Review"];
/// Number of the model's messages in each stage.
const TURNS: [usize; 2] = [10, 100];
/// Number of runs of each; they alternate.
const ROUNDS: usize = 5;
const SCRIPT: &str = "langgraph_pipeline.py";

/// Measures whole processes, including their start.
pub(crate) fn langgraph(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let folder = Path::new(&arguments.peers);
    for turns in TURNS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut own, mut other) = (0, 0);
        let mut version = String::new();
        for _ in 0..ROUNDS {
            ours.push(place::in_a_row(&STAGES, turns)?.run(&arguments.interlock)?);
            own = own.max(place::in_a_row(&STAGES, turns)?.peak(&arguments.interlock)?);
            let (took, found) = run(&place::in_a_row(&STAGES, turns)?, folder)?;
            theirs.push(took);
            version = found;
            other = other.max(peak(&place::in_a_row(&STAGES, turns)?, folder)?);
        }
        let (took, beside) = (median(ours), median(theirs));
        let name = format!("LangGraph {version}");
        table.ahead(
            format!("three stages of {turns} messages each"),
            shown(took),
            format!("{name}: {}", shown(beside)),
            ratio(beside, took),
            None,
        );
        table.memory_seen(
            format!("the peak of three stages of {turns} messages"),
            own,
            (&name, other),
        );
    }
    Ok(())
}

/// Returns the time of the process, and LangGraph's version.
fn run(place: &StageRoom, folder: &Path) -> Result<(Duration, String)> {
    let mut command = place.command("python3");
    let call = command
        .args(arguments(place, folder))
        .env("PYTHONPATH", folder.join("python"))
        .stdin(Stdio::null());
    let begun = Instant::now();
    let output = call.output()?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "{output:?}");
    place.check()?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let version = found.get("version").and_then(Value::as_str);
    Ok((took, version.context("no version")?.to_owned()))
}

fn peak(place: &StageRoom, folder: &Path) -> Result<u32> {
    let arguments = arguments(place, folder);
    let mut call = vec!["python3"];
    call.extend(arguments.iter().map(String::as_str));
    let mut parent = place.parent_of(&call)?;
    parent.env("PYTHONPATH", folder.join("python"));
    memory::reported(parent.stdin(Stdio::null()))
}

fn arguments(place: &StageRoom, folder: &Path) -> Vec<String> {
    let script = folder.join(SCRIPT).display().to_string();
    let store = place.path("stages.sqlite").display().to_string();
    let words = [&script, "--url", &place.url(), "--store", &store];
    let words = words.into_iter().chain(STAGES);
    words.map(str::to_owned).collect()
}
