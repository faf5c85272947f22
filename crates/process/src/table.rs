//! The system's table of processes: their parents, groups and arguments.
//!
//! Read from `/proc`. On systems without it, `ps` is asked for a single process, and processes cannot be listed.

use std::fs;

/// What the system reports about one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: u32,
    /// The name of its program, as the system keeps it.
    pub name: String,
    /// The id of its parent; 0 at the top.
    pub parent: u32,
    /// The number of its process group.
    pub group: i32,
    /// The device number of its terminal; 0 if it has none.
    pub terminal: i32,
    /// Whether it has ended and only waits to be reaped by its parent.
    pub has_ended: bool,
    /// When it was started, in ticks since the system booted.
    ///
    /// Together with the id, this tells a process apart from every other process of the same boot.
    pub start: u64,
}

/// Looks up a process; `None` if it does not exist or cannot be seen.
#[must_use]
pub fn entry(id: u32) -> Option<Entry> {
    let text = fs::read(format!("/proc/{id}/stat")).ok()?;
    read_entry(id, &String::from_utf8_lossy(&text))
}

/// Lists the ids of all processes, in no particular order; `None` if the system does not list them.
pub fn ids() -> Option<impl Iterator<Item = u32>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok()),
    )
}

/// Lists all processes, in no particular order; `None` if the system does not list them.
pub fn entries() -> Option<impl Iterator<Item = Entry>> {
    Some(ids()?.filter_map(entry))
}

/// Returns the arguments that a process was started with; empty if they cannot be seen.
#[cfg(target_os = "linux")]
#[must_use]
pub fn arguments(id: u32) -> Vec<String> {
    let raw = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    raw.split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// Returns the arguments that a process was started with; empty if they cannot be seen.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn arguments(id: u32) -> Vec<String> {
    let shown = std::process::Command::new("/bin/ps")
        .args(["-o", "args=", "-p", &id.to_string()])
        .output();
    let text = shown.map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned());
    text.unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Returns the variables that a process was started with, each as `NAME=VALUE`; empty if they cannot be seen.
#[must_use]
pub fn environment(id: u32) -> Vec<Vec<u8>> {
    let raw = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    raw.split(|byte| *byte == 0)
        .filter(|pair| !pair.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Parses `/proc/ID/stat`: `ID (NAME) STATE PARENT GROUP SESSION TERMINAL …`, where the name may contain blanks and brackets.
fn read_entry(id: u32, text: &str) -> Option<Entry> {
    let (head, rest) = text.rsplit_once(") ")?;
    let (_, name) = head.split_once(" (")?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let terminal = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(14)?.parse().ok()?;
    Some(Entry {
        id,
        name: name.to_owned(),
        parent,
        group,
        terminal,
        has_ended: matches!(state, "Z" | "X" | "x"),
        start,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let text = "7 (a) b) (c) S 1 70 71 34816 70 4194304 99 0 0 0 1 2 0 0 20 0 1 0 4242 9 9";
        let wanted = Entry {
            id: 7,
            name: "a) b) (c".to_owned(),
            parent: 1,
            group: 70,
            terminal: 34_816,
            has_ended: false,
            start: 4_242,
        };
        assert_eq!(read_entry(7, text), Some(wanted));
        for cut in ["", "7 (a", "7 (sh) S 1 7"] {
            assert_eq!(read_entry(7, cut), None, "{cut}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_is_listed_below_this_process_until_it_is_waited_for() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let seen = entry(child.id()).unwrap();
        assert_eq!(seen.parent, std::process::id());
        assert!(!seen.has_ended);
        assert!(ids().unwrap().any(|id| id == child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(entry(child.id()).is_none_or(|after| after.start != seen.start));
    }
}
