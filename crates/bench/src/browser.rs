//! Measures the console's page in a real browser: long runs, a large graph, many readers, memory.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Home};
use serde_json::Value;

use crate::{
    arguments::Arguments,
    console::{EVENTS, Page, long_run, paused_or_resumed},
    log::started_with,
    table::Table,
};

/// Number of states in the large workflow.
const STATES: usize = 500;
/// Number of readers of one stream.
const READERS: usize = 50;

const PAINT: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);
/// Time limit for comparing and judging two hundred thousand events.
const WAIT: Duration = Duration::from_secs(10);
const NEWS: Duration = Duration::from_secs(1);

/// Measures the page as a person uses it.
pub(crate) fn page(arguments: &Arguments, table: &mut Table) -> Result<()> {
    if arguments.browser.is_empty() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let home = Home::at(folder.path().join("state"));
    let (one, other) = (long_run(&home)?, long_run(&home)?);
    let large = started_with(&home, STATES)?.log.run().clone();
    let mut page = Page::open(home.clone())?;
    let found = measured(&arguments.browser, page.address(), [&one, &other, &large])?;
    let found = Found(&found);
    table.time(
        format!("browser: a run of {EVENTS} events opened and painted"),
        found.time("/open")?,
        PAINT,
    );
    table.time(
        "browser: a step of the scrubber, painted",
        found.time("/step/median")?,
        STEP,
    );
    table.time(
        "browser: a jump of the scrubber, painted",
        found.time("/jump/median")?,
        STEP,
    );
    table.time(
        format!("browser: two runs of {EVENTS} events compared and painted"),
        found.time("/compare")?,
        WAIT,
    );
    table.time(
        format!("browser: {EVENTS} events judged under another workflow"),
        found.time("/whatIf")?,
        WAIT,
    );
    table.time(
        format!("browser: a graph of {STATES} states opened and painted"),
        found.time("/large")?,
        PAINT,
    );
    let kept = found.number("/pan/kept")?;
    table.ahead(
        format!("browser: frames in time while {STATES} states are panned"),
        format!("{:.1} %", kept * 100.0),
        "95 %".to_owned(),
        kept / 0.95,
        Some(1.0),
    );
    let kib = |place: &str| -> Result<u32> { Ok(found.number(place)? as u32) };
    table.memory_beside(
        "browser: memory of the page after 20 rounds through the run",
        kib("/memory/later/kib")?,
        ("before them", kib("/memory/scrubbed/kib")?),
        1.5,
    );
    readers(&home, &mut page, &one, table)
}

/// Measures the time until the last of many readers of a run receives an event.
fn readers(home: &Home, page: &mut Page, run: &RunId, table: &mut Table) -> Result<()> {
    let path = format!("stream?run={run}&after={run}:{EVENTS}");
    let mut streams = (0..READERS)
        .map(|_| page.follow(&path))
        .collect::<Result<Vec<_>>>()?;
    let before = memory()?;
    let mut log = home.open_run(run)?;
    let begun = Instant::now();
    log.append(EVENTS, 1_000 + EVENTS, &[paused_or_resumed(EVENTS)])?;
    for stream in &mut streams {
        stream.until("events")?;
    }
    table.time(
        format!("console: {READERS} readers of one run hear of an event"),
        begun.elapsed(),
        NEWS,
    );
    for seq in EVENTS + 1..EVENTS + 500 {
        log.append(seq, 1_000 + seq, &[paused_or_resumed(seq)])?;
    }
    for stream in &mut streams {
        stream.until(&format!("lunch number {}", EVENTS + 499))?;
    }
    table.memory_beside(
        format!("console: memory after 500 more events to {READERS} readers"),
        memory()?,
        ("before", before),
        1.5,
    );
    Ok(())
}

/// Returns the resident memory of this process, in KiB.
fn memory() -> Result<u32> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let words = line.context("this system does not say how much memory a process has")?;
    let number = words.trim().trim_end_matches("kB").trim();
    Ok(number.parse()?)
}

/// Runs the browser script on the runs.
fn measured(script: &str, address: String, runs: [&RunId; 3]) -> Result<Value> {
    let mut node = Command::new("node");
    node.arg(script).arg(address);
    node.args(runs.map(|run| run.as_str()));
    let output = node.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the browser cannot be measured");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The results of the browser script.
struct Found<'v>(&'v Value);

impl Found<'_> {
    fn number(&self, place: &str) -> Result<f64> {
        let value = self.0.pointer(place).and_then(Value::as_f64);
        value.with_context(|| format!("the browser said nothing of `{place}`: {}", self.0))
    }

    fn time(&self, place: &str) -> Result<Duration> {
        Ok(Duration::from_secs_f64(self.number(place)? / 1_000.0))
    }
}
