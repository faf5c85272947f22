//! Backtests: generated sessions of realistic length, parsed and placed in a shipped workflow.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use interlock_backtest::{Backtester, Options};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sessions::{join, read};
use interlock_simulate::Scenario;
use serde_json::{Value, json};

use crate::{arguments::Arguments, sample::median, table::Table};

/// Number of calls in each session.
const CALLS: usize = 400;
const SESSIONS: usize = 50;
/// Number of project parts that the sessions work in: few, as in practice, or one for each session.
const PARTS: [usize; 2] = [7, SESSIONS];
/// Time limit per call, equal to 20,000 calls a second.
const PER_CALL: Duration = Duration::from_micros(50);

pub(crate) fn sessions(_: &Arguments, table: &mut Table) -> Result<()> {
    for parts in PARTS {
        of_parts(parts, table)?;
    }
    Ok(())
}

/// Measures sessions that work in this many parts of the project: calls repeat only within the same part.
fn of_parts(parts: usize, table: &mut Table) -> Result<()> {
    let sessions = 0..SESSIONS;
    let files: Vec<String> = sessions.map(|one| transcript(one, one % parts)).collect();
    let bytes: usize = files.iter().map(String::len).sum();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    for name in ["bugfix", "release"] {
        let text = fs::read_to_string(folder.join(name).with_extension("yaml"))?;
        let machine = load(&Source::new(name, text), None, &NoWorkflows)
            .map_err(|found| anyhow!("{found:?}"))?
            .machine;
        let mut times = Vec::new();
        let mut said = String::new();
        for _ in 0..5 {
            let begun = Instant::now();
            let read = files
                .iter()
                .filter_map(|text| read("made up", text.as_bytes(), None));
            let sessions = join(read.collect());
            let reading = begun.elapsed();
            let mut tester =
                Backtester::new(&machine, Options::default()).map_err(|why| anyhow!(why))?;
            let mut calls = 0_usize;
            let mut refused = 0;
            for session in &sessions {
                let found = tester.place(session, &Scenario::default());
                calls += found.placed.len();
                refused += found.fewest;
            }
            let took = begun.elapsed();
            let each = u32::try_from(calls).unwrap_or(u32::MAX).max(1);
            times.push(took / each);
            let second = f64::from(each) / took.as_secs_f64();
            said = format!(
                "backtest: {name}, {calls} calls in {} sessions, {parts} parts ({} MB, read in {} ms), {refused} refused, {second:.0} calls a second; a call",
                sessions.len(),
                bytes / 1_000_000,
                reading.as_millis(),
            );
        }
        table.time(said, median(times), PER_CALL);
    }
    Ok(())
}

/// Writes a session in Claude Code's format: looking, editing, testing, repeatedly.
fn transcript(session: usize, part: usize) -> String {
    let mut text = String::new();
    for index in 0..CALLS {
        let id = format!("toolu_{session}_{index}");
        let file = format!("/project/src/part{part}/module_{}.rs", (index / 5) % 23);
        let (tool, input, result) = call(index, part, &file);
        let at = format!(
            "2026-01-{:02}T{:02}:{:02}:{:02}.000Z",
            session % 28 + 1,
            index / 3_600,
            index / 60 % 60,
            index % 60
        );
        let common = json!({
            "sessionId": format!("session-{session}"), "cwd": "/project", "version": "2.1.329", "timestamp": at,
            "isSidechain": false, "userType": "external", "gitBranch": "main",
        });
        let mut add = |mut line: Value| {
            if let (Some(line), Some(common)) = (line.as_object_mut(), common.as_object()) {
                line.extend(common.clone());
            }
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        };
        add(
            json!({"type": "assistant", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": tool, "input": input}]}}),
        );
        add(
            json!({"type": "user", "toolUseResult": result, "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": "x".repeat(600), "is_error": false}]}}),
        );
    }
    text
}

/// Returns the tool, its arguments and its result.
fn call(index: usize, part: usize, file: &str) -> (&'static str, Value, Value) {
    let shell = |line: String| {
        let returned = json!({"stdout": "x".repeat(600), "stderr": "", "interrupted": false});
        (
            "Bash",
            json!({"command": line, "description": "a line"}),
            returned,
        )
    };
    match index % 10 {
        0 | 4 => ("Read", json!({"file_path": file}), json!({"type": "text"})),
        1 => (
            "Grep",
            json!({"pattern": "fn main", "path": "/project/src"}),
            json!({}),
        ),
        2 => shell(format!("sed -n 1,120p {file} | head -60")),
        3 => shell(format!("git diff --stat && git log --oneline -5 -- {file}")),
        5 | 6 => {
            let input = json!({"file_path": file, "old_string": format!("let a = {index};"), "new_string": format!("let b = {index};")});
            ("Edit", input, json!({"filePath": file}))
        }
        7 => shell("cargo test".to_owned()),
        8 => shell(format!("ls -la src/part{part}/{}", index % 7)),
        _ => shell(format!("rg -n 'needle_{part}_{index}' src tests")),
    }
}
