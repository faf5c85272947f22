//! The process group of a line, and its end.

use std::fs;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Asks everybody in the group of `leader` to end.
pub(super) fn ask(leader: Pid) {
    if kill_process_group(leader, Signal::TERM).is_err() {
        // It has no group of its own yet.
        let _ = kill_process(leader, Signal::TERM);
    }
    let _ = kill_process_group(leader, Signal::CONT);
}

/// Kills everybody in the group but its leader, which looks at what the line has changed.
pub(super) fn kill_members(leader: Pid) {
    for member in members(leader) {
        let _ = kill_process(member, Signal::KILL);
    }
}

/// Kills everybody in the group.
pub(super) fn kill(leader: Pid) {
    if kill_process_group(leader, Signal::KILL).is_err() {
        let _ = kill_process(leader, Signal::KILL);
    }
}

fn members(leader: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read(format!("/proc/{id}/stat")).ok()?;
            let group = group_of(&String::from_utf8_lossy(&text))?;
            let is_member = group == leader.as_raw_pid() && id != group;
            Pid::from_raw(id).filter(|_| is_member)
        })
        .collect()
}

// The second field is a name that may hold blanks and brackets.
fn group_of(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::group_of;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        assert_eq!(group_of("7 (a) b) (c) S 1 70 71 34816"), Some(70));
        assert_eq!(group_of("7 (a"), None);
    }
}
