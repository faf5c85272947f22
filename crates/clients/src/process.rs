//! The processes above this one, so that what runs below a client can be told.
//!
//! Read from `/proc`; where there is none, nothing is known.

use std::fs;

use interlock_store::ClientProcess;

/// A process and the one that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id and start.
    pub client: ClientProcess,
    /// The id of the process that started it; 0 for none.
    pub parent: u32,
    /// The name of its program, as the system keeps it.
    pub program: String,
}

/// Programs a client starts a hook through.
const GO_BETWEENS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "env", "timeout"];

/// Go-betweens looked through.
const STEPS_MAX: usize = 8;

/// Looks at a process; `None` when it is gone or cannot be seen.
#[must_use]
pub fn look(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    read_stat(pid, &stat)
}

/// Finds the client above this process: its parent, shells in between left out.
#[must_use]
pub fn client_above() -> Option<ClientProcess> {
    let mut process = look(look(std::process::id())?.parent)?;
    for _ in 0..STEPS_MAX {
        if !GO_BETWEENS.contains(&process.program.as_str()) {
            break;
        }
        process = look(process.parent)?;
    }
    Some(process.client)
}

// The name stands in brackets and may hold anything, brackets and blanks too.
fn read_stat(pid: u32, stat: &str) -> Option<Process> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, program) = before.split_once('(')?;
    let mut fields = after.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.to_owned();
    Some(Process {
        client: ClientProcess { pid, started },
        parent,
        program: program.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_read() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let process = read_stat(42, stat).unwrap();
        assert_eq!(process.parent, 7);
        assert_eq!(process.program, "a) b (c");
        assert_eq!(process.client.started, "987654");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_a_parent() {
        let own = look(std::process::id()).unwrap();
        assert_eq!(own.client.pid, std::process::id());
        assert!(own.parent > 0);
        assert!(client_above().is_some());
    }
}
