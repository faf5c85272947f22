//! Processes: who calls, and what a command runs below.

use interlock_process::table;
pub use interlock_process::{PERSONS_TOKEN, table::arguments};
use interlock_project::Environment;
use interlock_store::ClientProcess;

/// Maximum number of ancestors of a hook that are searched for its client.
const STEPS_MAX: usize = 8;

/// Programs that a client may put between itself and its hook.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "env", "timeout"];

/// A process, as the system shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The id of its parent; 0 at the top.
    pub parent: u32,
    /// The name of its program, as the system keeps it.
    pub name: String,
    /// Identity of the process, which no other process has.
    pub client: ClientProcess,
}

/// Maximum number of ancestors of a process that are examined.
const ANCESTORS_MAX: usize = 4096;

/// Maximum number of attempts if ancestors change meanwhile.
const WALKS_MAX: usize = 8;

/// Lists the ancestors of a process, the nearest first; `None` if they cannot be determined.
///
/// Works like [`with_ancestors`].
#[must_use]
pub fn ancestors(pid: u32) -> Option<Vec<Process>> {
    Some(with_ancestors(pid)?.into_iter().skip(1).collect())
}

/// Lists a process and its ancestors, the nearest first; `None` if they cannot be determined.
///
/// An ancestor that ends leaves its children to another process: the result was true at one moment, and a walk during which
/// something changed is repeated.
#[must_use]
pub fn with_ancestors(pid: u32) -> Option<Vec<Process>> {
    (0..WALKS_MAX).find_map(|_| walk(pid).ok()).flatten()
}

/// The ancestors changed during the walk.
struct Changed;

/// Walks up once, beginning with the process itself; returns `None` if there are too many.
fn walk(pid: u32) -> Result<Option<Vec<Process>>, Changed> {
    let mut below = look(pid).ok_or(Changed)?;
    let mut found = vec![below.clone()];
    while below.parent > 0 {
        let Some(process) = look(below.parent) else {
            // Either it has ended, and its child has another parent by now, or the system hides it.
            is_still(&below)?;
            break;
        };
        if found.len() > ANCESTORS_MAX {
            return Ok(None);
        }
        found.push(process.clone());
        below = process;
    }
    found.iter().try_for_each(is_still)?;
    Ok(Some(found))
}

fn is_still(process: &Process) -> Result<(), Changed> {
    match look(process.client.pid) {
        Some(now) if now.client == process.client && now.parent == process.parent => Ok(()),
        _ => Err(Changed),
    }
}

/// Finds the client's process above this hook: the nearest that is not a shell.
#[must_use]
pub fn client_above() -> Option<ClientProcess> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..STEPS_MAX {
        let process = look(pid)?;
        if !SHELLS.contains(&process.name.as_str()) {
            return Some(process.client);
        }
        pid = process.parent;
    }
    None
}

/// Returns the client's process, if it is visible.
pub(crate) fn client_of(environment: &Environment) -> Option<ClientProcess> {
    environment.client.clone().or_else(client_above)
}

/// Returns the command line of the client above this hook; empty if it is not visible.
#[must_use]
pub fn client_arguments() -> Vec<String> {
    client_above().map_or_else(Vec::new, |client| arguments(client.pid))
}

/// Lists the ids of all processes, where the system lists them.
pub(crate) fn all() -> Vec<u32> {
    let mut all: Vec<u32> = table::ids().into_iter().flatten().collect();
    all.sort_unstable();
    all
}

/// Returns whether a process is a shell, or a program that only starts others.
#[must_use]
pub fn is_shell(process: &ClientProcess) -> bool {
    let found = look(process.pid).filter(|found| found.client == *process);
    found.is_some_and(|found| SHELLS.contains(&found.name.as_str()))
}

/// Returns the environment that a process was started with; empty if it is not visible.
pub(crate) fn environment(pid: u32) -> Vec<(String, String)> {
    let pairs = table::environment(pid).into_iter().filter_map(|pair| {
        let pair = String::from_utf8_lossy(&pair);
        let (name, value) = pair.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// Returns the device number of a process's terminal; `None` if it has none, or it is not visible.
#[must_use]
pub fn terminal(pid: u32) -> Option<u64> {
    let number = table::entry(pid)?.terminal;
    (number != 0).then(|| u64::from(number.cast_unsigned()))
}

/// Looks up a process; returns `None` if it does not exist or is not visible.
#[cfg(target_os = "linux")]
#[must_use]
pub fn look(pid: u32) -> Option<Process> {
    let found = table::entry(pid)?;
    Some(Process {
        parent: found.parent,
        name: found.name,
        client: ClientProcess {
            pid,
            started: found.start.to_string(),
        },
    })
}

/// Looks up a process; returns `None` if it does not exist or is not visible.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn look(pid: u32) -> Option<Process> {
    let shown = std::process::Command::new("/bin/ps")
        .args(["-o", "ppid=,lstart=,comm=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8(shown.stdout).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let (parent, rest) = fields.split_first()?;
    // `lstart` is five words: day, month, date, time, year.
    let (started, name) = rest.split_at_checked(5)?;
    let name = name.join(" ");
    Some(Process {
        parent: parent.parse().ok()?,
        name: name.rsplit('/').next().unwrap_or_default().to_owned(),
        client: ClientProcess {
            pid,
            started: started.join(" "),
        },
    })
}
