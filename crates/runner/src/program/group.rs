//! A program's process group: who is left in it, and its end.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How long a group has to end after it was asked to.
pub(crate) const KILL_AFTER: Duration = Duration::from_secs(5);
/// Time between two looks at a group.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Longest that a group is waited for once it was killed.
const GONE_AFTER: Duration = Duration::from_secs(2);

/// Sends `signal` to everybody in `group`.
pub(super) fn send(group: Pid, signal: Signal) {
    // Nobody may be left.
    let _ = kill_process_group(group, signal);
    if signal == Signal::TERM {
        // One that a terminal has stopped could not hear it.
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Tells whether anybody in `group` still runs.
pub(super) fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
        return false;
    }
    // Those that have ended count for the system until somebody has waited for them.
    members(group).is_none_or(|members| !members.is_empty())
}

/// Lists who runs in `group`; `None` where the system does not tell.
fn members(group: Pid) -> Option<Vec<i32>> {
    Some(
        processes()?
            .filter(|process| process.group == group.as_raw_pid() && !process.has_ended)
            .map(|process| process.id)
            .collect(),
    )
}

/// What the system says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    id: i32,
    group: i32,
    has_ended: bool,
    /// When it was started, in the system's own measure since it came up.
    start: u64,
}

fn processes() -> Option<impl Iterator<Item = Process>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        process(id)
    }))
}

/// Reads what the system says of process `id`.
fn process(id: i32) -> Option<Process> {
    let text = fs::read(format!("/proc/{id}/stat")).ok()?;
    of_stat(id, &String::from_utf8_lossy(&text))
}

// The second field is a name that may hold blanks and brackets.
fn of_stat(id: i32, text: &str) -> Option<Process> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(16)?.parse().ok()?;
    Some(Process {
        id,
        group,
        has_ended: matches!(state, "Z" | "X" | "x"),
        start,
    })
}

/// Returns when process `id` was started; `None` when there is none, or nobody tells.
pub(super) fn start_of(id: i32) -> Option<u64> {
    process(id).map(|process| process.start)
}

/// Ends `groups`: asks them first, kills what is left, returns when nobody is.
pub(super) fn end(groups: &[Pid]) {
    for group in groups {
        send(*group, Signal::TERM);
    }
    if wait_for(groups, KILL_AFTER) {
        return;
    }
    for group in groups {
        send(*group, Signal::KILL);
    }
    wait_for(groups, GONE_AFTER);
}

fn wait_for(groups: &[Pid], longest: Duration) -> bool {
    let began = Instant::now();
    while groups.iter().any(|group| is_alive(*group)) {
        if began.elapsed() >= longest {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

/// Ends the groups of processes that have one of `values` in `variable` of their environment.
///
/// What a runner that died had just started is found so, recorded or not.
pub(crate) fn end_leftovers(variable: &str, values: &[String]) {
    let wanted: Vec<String> = values
        .iter()
        .map(|value| format!("{variable}={value}"))
        .collect();
    let own = rustix::process::getpgrp().as_raw_pid();
    let mut groups: Vec<Pid> = processes()
        .into_iter()
        .flatten()
        .filter(|process| !process.has_ended && process.group != own)
        .filter(|process| has_variable(process.id, &wanted))
        .filter_map(|process| Pid::from_raw(process.group))
        .collect();
    groups.sort_unstable_by_key(|group| group.as_raw_pid());
    groups.dedup();
    if !groups.is_empty() {
        end(&groups);
    }
}

fn has_variable(id: i32, wanted: &[String]) -> bool {
    fs::read(format!("/proc/{id}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|one| wanted.iter().any(|wanted| wanted.as_bytes() == one))
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::{Process, of_stat, start_of};

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let text = "7 (a) b) (c) S 1 70 70 34816 70 4194304 99 0 0 0 1 2 0 0 20 0 1 0 4242 9 9";
        let wanted = Process {
            id: 7,
            group: 70,
            has_ended: false,
            start: 4242,
        };
        assert_eq!(of_stat(7, text), Some(wanted));
        assert_eq!(of_stat(7, "7 (a"), None);
    }

    #[test]
    fn this_process_has_a_start() {
        let id = i32::try_from(std::process::id()).unwrap();
        assert!(start_of(id).is_some());
    }
}
