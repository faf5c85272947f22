//! Steps one after the other, each with its time, and one line that sums them up.

use std::{
    io::{self, BufRead as _, BufReader},
    process::{Command, ExitCode, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{tally::Tally, tools};

/// What a series of steps came to.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    ended: Vec<Ended>,
}

#[derive(Debug)]
struct Ended {
    name: &'static str,
    took: Duration,
    tally: Tally,
    ok: bool,
}

impl Steps {
    /// Runs a program as a step; tests that it reports are counted.
    pub(crate) fn command(&mut self, name: &'static str, mut command: Command) {
        let shown = shown(&command);
        self.step(name, &shown, || {
            let (status, tally) = watch(&mut command)?;
            Ok((status.success(), tally))
        });
    }

    /// Runs a part of this program as a step.
    pub(crate) fn own(&mut self, name: &'static str, what: &str, run: impl FnOnce() -> Result<()>) {
        self.step(name, what, || run().map(|()| (true, Tally::default())));
    }

    fn step(
        &mut self,
        name: &'static str,
        what: &str,
        run: impl FnOnce() -> Result<(bool, Tally)>,
    ) {
        println!("{}", strong(&format!("== {name}: {what}")));
        let begun = Instant::now();
        let (ok, tally) = run().unwrap_or_else(|error| {
            eprintln!("{name}: {error:#}");
            (false, Tally::default())
        });
        let took = begun.elapsed();
        let ok = ok && tally.failed == 0;
        let tally = counted(tally, ok);
        let end = if ok { "done" } else { "FAILED" };
        println!("== {name}: {end} after {}\n", seconds(took));
        self.ended.push(Ended {
            name,
            took,
            tally,
            ok,
        });
    }

    /// Prints the times and the sum, which is the last line.
    pub(crate) fn finish(self) -> ExitCode {
        let mut sum = Tally::default();
        for step in &self.ended {
            let end = if step.ok { "ok" } else { "FAILED" };
            println!("{:<10}{:>9}  {end}", step.name, seconds(step.took));
            sum += step.tally;
        }
        println!("{} passed, {} failed", sum.passed, sum.failed);
        if sum.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// Counts a step that has no tests, or failed without a failed test, as one itself.
fn counted(tally: Tally, ok: bool) -> Tally {
    match tally {
        Tally {
            passed: 0,
            failed: 0,
        } if ok => Tally {
            passed: 1,
            failed: 0,
        },
        Tally { passed, failed: 0 } if !ok => Tally { passed, failed: 1 },
        tests => tests,
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

fn strong(text: &str) -> String {
    if tools::on_terminal() {
        format!("\u{1b}[1m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// Writes a call as a person would type it.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_stem().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

/// Runs the program, hands on what it prints and counts its tests.
fn watch(command: &mut Command) -> Result<(ExitStatus, Tally)> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("`{}` cannot be started", shown(command)))?;
    let printed = (child.stdout.take(), child.stderr.take());
    let tally = thread::scope(|scope| {
        let errors = printed
            .1
            .map(|stream| scope.spawn(|| copy(stream, io::stderr())));
        let mut tally = printed
            .0
            .map(|stream| copy(stream, io::stdout()))
            .unwrap_or_default();
        if let Some(Ok(more)) = errors.map(thread::ScopedJoinHandle::join) {
            tally += more;
        }
        tally
    });
    Ok((child.wait()?, tally))
}

/// Copies line by line and adds up the closing lines of tests.
fn copy(from: impl io::Read, mut to: impl io::Write) -> Tally {
    let mut tally = Tally::default();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // Nobody listens any more: the step still has to end.
        drop(to.write_all(&line).and_then(|()| to.flush()));
        if let Some(more) = Tally::read(&String::from_utf8_lossy(&line)) {
            tally += more;
        }
        line.clear();
    }
    tally
}
