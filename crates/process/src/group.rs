//! A program's process group: its members, and how it is ended.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use crate::table::{self, Entry};

/// How long a group has to end after it was asked to.
pub const KILL_AFTER: Duration = Duration::from_secs(5);
/// Time between two checks of a group.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The longest time for which a group is waited for after it was killed.
const GONE_AFTER: Duration = Duration::from_secs(2);

/// Sends `signal` to every member of `group`.
pub(crate) fn send(group: Pid, signal: Signal) {
    // There may be no member left.
    let _ = kill_process_group(group, signal);
    if signal == Signal::TERM {
        // A process that a terminal has stopped would not receive it.
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Returns whether any member of `group` still runs.
pub(crate) fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
        return false;
    }
    // The system counts processes that have ended until they have been waited for.
    members(group).is_none_or(|mut members| members.any(|member| !member.has_ended))
}

/// Lists the members of `group`; `None` if the system does not list processes.
fn members(group: Pid) -> Option<impl Iterator<Item = Entry>> {
    Some(table::entries()?.filter(move |entry| entry.group == group.as_raw_pid()))
}

/// Asks every member of the group of `leader` to end.
pub fn ask(leader: Pid) {
    if kill_process_group(leader, Signal::TERM).is_err() {
        // It does not have a group of its own yet.
        let _ = kill_process(leader, Signal::TERM);
    }
    let _ = kill_process_group(leader, Signal::CONT);
}

/// Kills every member of the group of `leader` except the leader itself.
pub fn kill_members(leader: Pid) {
    let members = members(leader).into_iter().flatten().map(|entry| entry.id);
    let ids = members.filter_map(|id| Pid::from_raw(i32::try_from(id).ok()?));
    for member in ids.filter(|member| *member != leader) {
        let _ = kill_process(member, Signal::KILL);
    }
}

/// Kills every member of the group of `leader`.
pub fn kill(leader: Pid) {
    if kill_process_group(leader, Signal::KILL).is_err() {
        let _ = kill_process(leader, Signal::KILL);
    }
}

/// Ends `groups`: asks them first, kills what is left, and returns when no member is left.
pub(crate) fn end(groups: &[Pid]) {
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

/// Ends the groups of processes whose environment sets `variable` to one of `values`.
///
/// This finds what a dead runner had just started, whether it was recorded or not.
pub fn end_leftovers(variable: &str, values: &[String]) {
    let wanted: Vec<Vec<u8>> = values
        .iter()
        .map(|value| format!("{variable}={value}").into_bytes())
        .collect();
    let own = rustix::process::getpgrp().as_raw_pid();
    let has_variable = |entry: &Entry| {
        let environment = table::environment(entry.id);
        environment.iter().any(|pair| wanted.contains(pair))
    };
    let mut groups: Vec<Pid> = table::entries()
        .into_iter()
        .flatten()
        .filter(|entry| !entry.has_ended && entry.group != own)
        .filter(has_variable)
        .filter_map(|entry| Pid::from_raw(entry.group))
        .collect();
    groups.sort_unstable_by_key(|group| group.as_raw_pid());
    groups.dedup();
    if !groups.is_empty() {
        end(&groups);
    }
}
