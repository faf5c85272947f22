//! Measures the reader of shell lines at its limits, and compares it with `bash -n`.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_shell::{ShellContext, read};

use crate::{
    arguments::Arguments,
    sample::{self, median},
    shell::LINES,
    table::{Table, ratio, shown},
};

const DOCUMENT_TARGET: Duration = Duration::from_millis(1);
const WORST_TARGET: Duration = Duration::from_millis(50);
/// Number of starts of bash for each line.
const STARTS: usize = 15;

/// Measures a long here-document, the worst lines within the limits, and bash.
pub(crate) fn bounds(_: &Arguments, table: &mut Table) -> Result<()> {
    let setting = ShellContext {
        directory: "/p".to_owned(),
        project_root: "/p".to_owned(),
        home: Some("/home/me".to_owned()),
        ..ShellContext::default()
    };
    let document = format!(
        "cat > src/a.rs <<'END'\n{}END\n",
        "let a = f(b); // some code\n".repeat(2_400)
    );
    let whole = read(&document, &setting);
    ensure!(
        whole.unreadable.is_none(),
        "the here-document is not read: {:?}",
        whole.unreadable
    );
    table.time(
        format!("reader: a here-document of {} KiB", document.len() / 1024),
        sample::time(|| read(&document, &setting)),
        DOCUMENT_TARGET,
    );
    let mut slowest = (Duration::ZERO, "");
    for (name, line) in worst_lines() {
        let took = sample::time(|| read(&line, &setting));
        slowest = slowest.max((took, name));
    }
    table.time(
        format!("reader: the worst line under the caps ({})", slowest.1),
        slowest.0,
        WORST_TARGET,
    );
    let ours = median(
        LINES
            .iter()
            .map(|line| sample::time(|| read(line, &setting)))
            .collect(),
    );
    let theirs = median(
        LINES
            .iter()
            .map(|line| syntax_check(line))
            .collect::<Result<_>>()?,
    );
    let started = syntax_check("")?;
    let beside = |what: &str, measured: Duration, other: Duration, table: &mut Table| {
        table.seen(what, shown(measured), shown(other), ratio(measured, other));
    };
    beside(
        "reader: a line read, beside `bash -n` of it",
        ours,
        theirs,
        table,
    );
    beside(
        "reader: `bash -n` of a line, beside that of nothing",
        theirs,
        started,
        table,
    );
    Ok(())
}

/// Returns the slowest of some thousand lines that were tried, each of another kind.
fn worst_lines() -> Vec<(&'static str, String)> {
    let values: Vec<String> = (0..100).map(|n| format!("v{n}")).collect();
    let nested = |open: &str, depth: usize, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        (
            "nested loops",
            nested("while ls; do ", 90, "echo {1..500} {1..500}", "; done"),
        ),
        (
            "loops over values",
            format!(
                "for a in {0}; do for b in {0}; do ls $a $b; done; done",
                values.join(" ")
            ),
        ),
        (
            "doubled values",
            format!("a=xxxxxxxx;{}", "a=$a$a;".repeat(40)),
        ),
        (
            "doubled words",
            format!("set -- a b c;{}", "set -- \"$@\" \"$@\";".repeat(30)),
        ),
        ("arithmetic", "((i++));".repeat(990)),
        ("variables", format!("echo \"{}\"", "$x ".repeat(9_900))),
        ("line feeds", "\n".repeat(65_000)),
        ("wrappers", "xargs ".repeat(3_900)),
        ("braces", format!("ls {}", "{1..999} ".repeat(900))),
        ("substitutions", "ls `` ".repeat(990)),
        ("nested substitutions", nested("ls <(", 98, "ls", ")")),
        ("many commands", "ls && pwd || cd a;".repeat(330)),
        (
            "functions",
            (0..450).map(|n| format!("f{n}() {{ ls; }};")).collect(),
        ),
    ]
}

/// Returns the time that bash takes to start and check the syntax of a line.
fn syntax_check(line: &str) -> Result<Duration> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let begun = Instant::now();
        let status = Command::new("bash")
            .args(["--norc", "--noprofile", "-n", "-c", line])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("bash cannot be started")?;
        times.push(begun.elapsed());
        ensure!(status.success(), "bash does not read `{line}`");
    }
    Ok(median(times))
}
