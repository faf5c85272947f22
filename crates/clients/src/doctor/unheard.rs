//! Clients that run in a project and have called no hook, so that nothing judges their calls.
//!
//! A client that was started without its hooks does not report this, but its process is visible.

use std::path::{Path, PathBuf};

use interlock_store::{Home, StoreError};

use super::switches;
use crate::{client::ClientId, process, registry::definition, session::living_sessions};

/// Maximum number of ancestors that are searched for a process.
const STEPS_MAX: usize = 16;

/// Programs that run clients written in JavaScript.
const INTERPRETERS: [&str; 3] = ["node", "bun", "deno"];

/// A client that runs in a project and has called no hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnheardClient {
    /// Name of the client.
    pub client: &'static str,
    /// Id of its process.
    pub pid: u32,
    /// What disables its hooks on its command line or in its environment, if visible.
    pub without: Option<String>,
}

/// Lists the clients that run in a project and have called no hook, each by its topmost process.
///
/// # Errors
/// Returns an error if the state directory cannot be read.
pub fn unheard_clients(home: &Home, project_root: &Path) -> Result<Vec<UnheardClient>, StoreError> {
    let heard: Vec<u32> = living_sessions(home, project_root)?
        .iter()
        .map(|session| session.process.pid)
        .collect();
    let own = std::process::id();
    let clients: Vec<(u32, ClientId)> = process::all()
        .into_iter()
        .filter(|pid| directory(*pid).is_some_and(|place| place.starts_with(project_root)))
        .filter_map(|pid| Some((pid, client_of(&process::arguments(pid))?)))
        .collect();
    let is_new = |pid: u32| {
        // A client may consist of several processes: any of them may be the one that calls hooks.
        let speaks = heard
            .iter()
            .any(|heard| is_below(*heard, pid) || is_below(pid, *heard));
        let inner = clients
            .iter()
            .any(|(other, _)| *other != pid && is_below(pid, *other));
        !speaks && !inner && !is_below(pid, own)
    };
    let unheard = clients.iter().filter(|(pid, _)| is_new(*pid));
    Ok(unheard
        .map(|(pid, client)| UnheardClient {
            client: definition(*client).title,
            pid: *pid,
            without: without(*client, *pid),
        })
        .collect())
}

/// Returns the client that a command line starts, possibly through an interpreter.
fn client_of(arguments: &[String]) -> Option<ClientId> {
    let named = |word: &String| {
        let name = Path::new(word).file_name()?.to_str()?;
        let name = name.split('.').next().unwrap_or(name);
        ClientId::ALL
            .iter()
            .map(|(_, client)| *client)
            .find(|client| definition(*client).programs.contains(&name))
    };
    let [program, rest @ ..] = arguments else {
        return None;
    };
    let interprets = Path::new(program)
        .file_name()
        .is_some_and(|name| INTERPRETERS.iter().any(|known| name == *known));
    match rest.first() {
        Some(script) if interprets => named(script),
        _ => named(program),
    }
}

/// Returns what disables the hooks of a client on its command line or in its environment.
fn without(client: ClientId, pid: u32) -> Option<String> {
    let arguments = process::arguments(pid);
    let pairs = || arguments.iter().zip(arguments.iter().skip(1));
    let shown = match client {
        ClientId::Opencode => arguments.iter().find(|word| *word == "--pure").cloned(),
        ClientId::Codex => {
            let switched = pairs().find(|(option, value)| match option.as_str() {
                "--disable" => value.as_str() == "hooks",
                "-c" | "--config" => {
                    let plain: String = value.chars().filter(|it| !it.is_whitespace()).collect();
                    plain.ends_with("hooks=false")
                }
                _ => false,
            });
            switched
                .map(|(option, value)| format!("{option} {value}"))
                .or_else(|| {
                    arguments
                        .iter()
                        .find(|word| *word == "--ignore-user-config")
                        .cloned()
                })
        }
        _ => None,
    };
    shown.or_else(|| {
        let variables = process::environment(pid);
        let names = switches::OPENCODE.iter().map(|(name, _)| *name);
        names
            .filter(|_| client == ClientId::Opencode)
            .find(|name| {
                variables
                    .iter()
                    .any(|(known, value)| known == name && switches::is_on(value))
            })
            .map(str::to_owned)
    })
}

fn is_below(pid: u32, above: u32) -> bool {
    let mut at = pid;
    for _ in 0..STEPS_MAX {
        if at == above {
            return true;
        }
        match process::look(at) {
            Some(found) if found.parent > 1 => at = found.parent,
            _ => return false,
        }
    }
    false
}

/// Returns the working directory of a process, if visible.
fn directory(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}
