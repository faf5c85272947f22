//! Long runs: the cost of a step stays constant, and memory stays small.
//!
//! Memory is asserted, times are printed. `INTERLOCK_WHOLE` plays a log of a million events and a list of a hundred
//! thousand lines; without it, the tests are a sample.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failed test panics, and what is measured is told"
)]

#[path = "support/direct.rs"]
mod direct;

use std::{fmt::Write as _, fs, path::Path};

use interlock_core::{
    machine::{Machine, Outcome as Ended},
    run::Phase,
};
use interlock_formats::{NoWorkflows, Source, load, render};
use interlock_runner::{Halt, Host as _, Order, drive};
use interlock_store::{Durability, EventLog as _, Home};
use interlock_testkit::sample;
use serde_json::json;

use direct::{Direct, begin};

/// Maximum memory of each test.
const KIBIBYTES_MAX: u64 = 200 * 1024;

/// Returns the size of the sample or of the whole test.
fn size(sample: usize, whole: usize) -> usize {
    if sample::is_whole() { whole } else { sample }
}

fn flow(text: &str) -> Machine {
    let loaded = load(&Source::new("flow.yaml", text), None, &NoWorkflows);
    loaded
        .unwrap_or_else(|found| panic!("{}", render(&found, false)))
        .machine
}

/// Returns the peak memory of this process.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    number.unwrap().trim().parse().unwrap()
}

/// Number of steps between two readings of the clock.
const SOME: usize = 1_000;

/// The measurements of a run.
struct Ran {
    steps: usize,
    /// Maximum number of concurrent orders.
    most: usize,
    /// The processor time of this thread at each thousandth step, in nanoseconds.
    clock: Vec<u64>,
}

/// Returns the processor time of this thread, which is independent of others.
fn computed_ns() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Drives a run of `machine` to its success and measures it.
fn driven(
    what: &str,
    room: &Path,
    machine: &Machine,
    mut answer: impl FnMut(&Order) -> String,
) -> Ran {
    let log = begin(room, machine, Durability::Process).unwrap();
    let id = log.run().clone();
    let (mut steps, mut clock) = (0, Vec::new());
    let mut host = Direct::new(log, |order: &Order| {
        if steps % SOME == 0 {
            clock.push(computed_ns());
        }
        steps += 1;
        answer(order)
    });
    assert_eq!(drive(machine, &mut host).unwrap(), Halt::Over);
    let run = host.load().unwrap();
    let most = host.most;
    drop(host);
    let done = Phase::Ended {
        outcome: Ended::Success,
        cause: None,
    };
    assert_eq!(run.phase, done, "{what}");
    let log = Home::at(room.join("state")).open_run(&id).unwrap();
    let peak = peak_kib();
    println!(
        "{what}: {steps} steps, {} events, {} MiB at most",
        log.count().unwrap(),
        peak / 1024
    );
    assert!(peak < KIBIBYTES_MAX, "{what}: {peak} KiB");
    Ran { steps, most, clock }
}

/// Prints how the last thousand steps compare with the first.
fn tell_ratio(what: &str, ran: &Ran) {
    let took: Vec<u64> = ran.clock.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (first, last) = (took[0], took[took.len() - 1]);
    #[expect(clippy::cast_precision_loss, reason = "a few seconds in nanoseconds")]
    let ratio = last as f64 / first as f64;
    println!(
        "{what}: the last thousand steps compute {} us each, the first {}: {ratio:.2} times",
        last / 1_000_000,
        first / 1_000_000
    );
}

#[test]
fn a_log_of_a_million_events() {
    let steps = size(10_000, 333_334);
    let machine = json!({
        "id": "loop", "initial": "step", "durable": true,
        "states": { "step": {
            "activity": { "task": { "kind": { "program": "step" } } },
            "capture": { "key": "last" },
            "on": { "done": { "branched": true, "transitions": [
                { "guards": [{ "inline": { "output": "over" } }], "target": { "end": "success" } },
                { "target": { "state": "step" } },
            ] } },
        } },
    });
    let machine = serde_json::from_value::<Machine>(machine).unwrap().seal();
    let room = tempfile::tempdir().unwrap();
    let mut taken = 0;
    let host = driven("one state again and again", room.path(), &machine, |_| {
        taken += 1;
        if taken == steps { "over" } else { "on" }.to_owned()
    });
    assert_eq!(host.steps, steps);
    tell_ratio("one state again and again", &host);
}

#[test]
fn a_chain_of_ten_thousand_states() {
    const STATES: usize = 10_000;
    let mut text = "start-at: s0\nstates:\n".to_owned();
    for at in 0..STATES {
        let next = if at + 1 < STATES {
            format!(", next: s{}", at + 1)
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "  s{at}: {{tool: bash, arguments: {{command: ls}}{next}}}"
        );
    }
    let machine = flow(&text);
    let room = tempfile::tempdir().unwrap();
    let host = driven("a chain", room.path(), &machine, |_| String::new());
    assert_eq!(host.steps, STATES);
    tell_ratio("a chain", &host);
}

#[test]
fn a_list_of_a_hundred_thousand_lines() {
    let lines = size(10_000, 100_000);
    let text = "
start-at: each
states:
  each:
    tool: for-each
    arguments:
      items-from: list
      start-at: look
      states:
        look: {tool: if-equal, arguments: {left: '{{ item }}', right: x}, output: var(seen)}
    next: last
  last: {tool: bash, arguments: {command: 'echo {{ seen }}'}}
";
    let machine = flow(text);
    let room = tempfile::tempdir().unwrap();
    let mut commands = Vec::new();
    let host = driven("lines that are looked at", room.path(), &machine, |order| {
        let command = order.input["command"].as_str().unwrap().to_owned();
        let list = command == "list";
        commands.push(command);
        if !list {
            return String::new();
        }
        (0..lines).map(|line| format!("line {line}\n")).collect()
    });
    assert_eq!(host.steps, 2);
    assert_eq!(commands, ["list", "echo false"]);
}

#[test]
fn a_step_for_each_of_many_lines() {
    let lines = size(5_000, 100_000);
    let text = "
start-at: each
states:
  each:
    tool: for-each
    arguments:
      items-from: list
      start-at: run
      states:
        run: {tool: bash, arguments: {command: '{{ index }}'}}
";
    let machine = flow(text);
    let room = tempfile::tempdir().unwrap();
    let host =
        driven(
            "a step for each line",
            room.path(),
            &machine,
            |order| match order.input["command"].as_str().unwrap() {
                "list" => "a line\n".repeat(lines),
                _ => String::new(),
            },
        );
    assert_eq!(host.steps, lines + 1);
    tell_ratio("a step for each line", &host);
}

#[test]
fn two_hundred_tasks_sixteen_at_once() {
    let tasks: String = (0..200)
        .map(|task| format!("        - {{tool: bash, arguments: {{command: '{task}'}}}}\n"))
        .collect();
    let text = format!(
        "start-at: p\nstates:\n  p:\n    tool: parallel\n    arguments:\n      max-concurrency: 16\n      tasks:\n{tasks}"
    );
    let machine = flow(&text);
    let room = tempfile::tempdir().unwrap();
    let host = driven("two hundred tasks", room.path(), &machine, |_| {
        String::new()
    });
    assert_eq!((host.steps, host.most), (200, 16));
}
