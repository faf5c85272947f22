//! Measures the judging of a shell line: it is read, its facts are derived on a real disk, and it is decided.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use interlock_clients::{ClientId, tool};
use interlock_core::{command::CommandKind, decide, names::CallId};
use interlock_facts::{CallContext, Proposal, RealDisk, facts};
use serde_json::{Value, json};

use crate::{
    arguments::Arguments,
    engine::{begun, command},
    sample::{self, median},
    table::Table,
    workflow,
};

const TARGET: Duration = Duration::from_micros(150);

/// Lines as agents write them, from a single command to a loop.
pub(crate) const LINES: &[&str] = &[
    "git status",
    "ls -la src",
    "cargo test --workspace 2>&1 | tail -20",
    "git diff --stat HEAD~1 && git log --oneline -5",
    "grep -rn 'fn main' src --include='*.rs' | head -50",
    "cd src && sed -n '1,40p' main.rs",
    "RUST_BACKTRACE=1 cargo test parser -- --nocapture",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "find . -name '*.rs' -not -path './target/*' | xargs grep -l TODO",
    "cat > notes.txt <<'EOF'\nfirst\nsecond\nEOF",
    "test -f Cargo.toml && echo yes || echo no",
];

/// Measures each line, and reports the median and the slowest.
pub(crate) fn judge(_: &Arguments, table: &mut Table) -> Result<()> {
    let machine = workflow::machine(&workflow::ring(100))?;
    let run = begun(&machine);
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    fs::create_dir_all(root.join("src"))?;
    fs::write(root.join("src/main.rs"), "fn main() {}\n")?;
    fs::write(root.join("notes.txt"), "first\n")?;
    let disk = RealDisk;
    let call_context = CallContext::of_project(root.to_string_lossy()).resolved(&disk);
    let mut times = Vec::new();
    for line in LINES {
        let input = json!({"command": line});
        let judged = || {
            let call = facts(proposal(&input), &call_context, &disk);
            decide(
                &machine,
                &run,
                &command(CommandKind::Propose(Box::new(call))),
            )
        };
        let call = facts(proposal(&input), &call_context, &disk);
        let shell = call.facts.shell.as_ref();
        let readable = shell.is_some_and(|shell| shell.unreadable.is_none());
        ensure!(readable, "`{line}` is not read: {shell:?}");
        times.push(sample::time(judged));
    }
    let slowest = times.iter().max().copied().unwrap_or_default();
    table.time(
        format!("shell: a line judged, the middle of {}", LINES.len()),
        median(times),
        TARGET,
    );
    table.time("shell: the slowest of them", slowest, TARGET);
    Ok(())
}

fn proposal(input: &Value) -> Proposal<'_> {
    let known = tool(ClientId::ClaudeCode, "Bash");
    Proposal {
        id: CallId::new("call"),
        tool: "Bash",
        common: known.common,
        shape: known.shape,
        input,
        doubled: None,
        agent: None,
        branch: None,
    }
}
