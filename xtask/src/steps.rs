//! Runs steps one after the other, with the time of each, and prints a summary line.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, BufReader},
    process::{Command, ExitCode, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{tally::Tally, tools};

/// The results of a series of steps.
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
    /// How a failed step ended, and the last lines of its output.
    failure: Vec<String>,
}

/// Number of last lines of a failed step that are repeated at the end.
const LINES_AGAIN: usize = 40;

/// The result of one step.
struct Done {
    ok: bool,
    tally: Tally,
    /// Its exit status or error, and the last lines of its output.
    end: Vec<String>,
}

impl Steps {
    /// Runs a program as a step, and returns whether it succeeded; tests that it reports are counted.
    pub(crate) fn command(&mut self, name: &'static str, mut command: Command) -> bool {
        let shown = shown(&command);
        self.step(name, &shown, || {
            let (status, tally, last) = watch(&mut command)?;
            let mut end = vec![status.to_string()];
            end.extend(last);
            Ok(Done {
                ok: status.success(),
                tally,
                end,
            })
        })
    }

    /// Runs a function of this program as a step.
    pub(crate) fn own(&mut self, name: &'static str, what: &str, run: impl FnOnce() -> Result<()>) {
        self.step(name, what, || {
            run().map(|()| Done {
                ok: true,
                tally: Tally::default(),
                end: Vec::new(),
            })
        });
    }

    fn step(&mut self, name: &'static str, what: &str, run: impl FnOnce() -> Result<Done>) -> bool {
        println!("{}", strong(&format!("== {name}: {what}")));
        let begun = Instant::now();
        let done = run().unwrap_or_else(|error| {
            eprintln!("{name}: {error:#}");
            Done {
                ok: false,
                tally: Tally::default(),
                end: vec![format!("{error:#}")],
            }
        });
        let took = begun.elapsed();
        let ok = done.ok && done.tally.failed == 0;
        let tally = counted(done.tally, ok);
        let end = if ok { "done" } else { "FAILED" };
        println!("== {name}: {end} after {}\n", seconds(took));
        self.ended.push(Ended {
            name,
            took,
            tally,
            ok,
            failure: if ok { Vec::new() } else { done.end },
        });
        ok
    }

    /// Prints the output of failed steps, the times, and as the last line the sum.
    pub(crate) fn finish(self) -> ExitCode {
        for step in self.ended.iter().filter(|step| !step.ok) {
            println!("== {} FAILED; its last lines were:", step.name);
            for line in &step.failure {
                println!("{line}");
            }
            println!();
        }
        let mut sum = Tally::default();
        for step in &self.ended {
            let end = if step.ok { "ok" } else { "FAILED" };
            println!("{:<15}{:>9}  {end}", step.name, seconds(step.took));
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

/// Counts a step as one test if it reports none, or if it failed without a failed test.
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

/// Returns the command as a person would type it.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_stem().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

/// Runs the program, forwards its output, counts its tests and returns its last lines.
fn watch(command: &mut Command) -> Result<(ExitStatus, Tally, VecDeque<String>)> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("`{}` cannot be started", shown(command)))?;
    let printed = (child.stdout.take(), child.stderr.take());
    let last = Mutex::new(VecDeque::new());
    let tally = thread::scope(|scope| {
        let errors = printed
            .1
            .map(|stream| scope.spawn(|| copy(stream, io::stderr(), &last)));
        let mut tally = printed
            .0
            .map(|stream| copy(stream, io::stdout(), &last))
            .unwrap_or_default();
        if let Some(Ok(more)) = errors.map(thread::ScopedJoinHandle::join) {
            tally += more;
        }
        tally
    });
    let last = last.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((child.wait()?, tally, last))
}

/// Copies line by line, keeps the `last` lines and adds up the summary lines of tests.
fn copy(from: impl io::Read, mut to: impl io::Write, last: &Mutex<VecDeque<String>>) -> Tally {
    let mut tally = Tally::default();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // Even if nobody reads the output any more, the step has to finish.
        drop(to.write_all(&line).and_then(|()| to.flush()));
        let text = String::from_utf8_lossy(&line);
        if let Some(more) = Tally::read(&text) {
            tally += more;
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == LINES_AGAIN {
            last.pop_front();
        }
        last.push_back(text.trim_end().to_owned());
        line.clear();
    }
    tally
}
