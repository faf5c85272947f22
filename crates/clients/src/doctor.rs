//! What `doctor` finds out by trying: whether a client is guarded, and what its version means.

mod confinement;
mod hooks;
mod machine;
mod mods;
mod probe;
mod servers;
mod sessions;
mod switches;
mod token;
mod trust;
mod unheard;
mod versions;
mod watched;

use std::path::{Path, PathBuf};

pub use mods::{UnknownMod, unknown_mods};
pub use token::{ClientWithToken, clients_with_token};
pub use unheard::{UnheardClient, unheard_clients};

use interlock_project::{Environment, now_ms};
use interlock_store::Home;
use serde::Serialize;

use crate::{
    client::ClientId,
    registry::definition,
    settings::{Site, client_def::ClientDef},
};

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nothing is wrong.
    Ok,
    /// Something a person should know.
    Warn,
    /// Believed guarded, and not.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The client, or `interlock`.
    pub of: &'static str,
    /// What was looked at.
    pub what: &'static str,
    /// How it stands.
    pub health: Health,
    /// What was seen.
    pub seen: String,
    /// What to do; empty when there is nothing to do.
    pub advice: String,
    /// How long the answer took, in milliseconds; of several tries the one in the middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// What was found of one client, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The client.
    pub client: &'static str,
    /// Its version; `None`: its program is not there.
    pub version: Option<String>,
    /// Whether its hooks are all there.
    pub hooks: Found,
    /// Whether it trusts them; `None`: it does not ask that, or cannot be asked.
    pub trusted: Option<bool>,
    /// How long a hook takes to answer, the middle of several tries, in milliseconds.
    pub answers_ms: Option<u64>,
    /// Whether the control server answers; `None`: it is not registered.
    pub gateway: Option<bool>,
}

/// How much of something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Everything.
    All,
    /// Not everything, or not as it should be.
    Some,
    /// Nothing.
    None,
}

/// Everything that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One row a client.
    pub clients: Vec<Row>,
    /// Everything in order.
    pub checks: Vec<Check>,
}

impl Report {
    /// Tells whether a client that is believed guarded is not.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.checks.iter().any(|check| check.health == Health::Fail)
    }
}

impl Check {
    fn new(
        of: &'static str,
        what: &'static str,
        health: Health,
        seen: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            of,
            what,
            health,
            seen: seen.into(),
            advice: advice.into(),
            took_ms: None,
        }
    }

    /// Makes a check of Interlock itself.
    fn own(
        what: &'static str,
        health: Health,
        seen: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new("interlock", what, health, seen, advice)
    }

    fn after(self, took_ms: u64) -> Self {
        Self {
            took_ms: Some(took_ms),
            ..self
        }
    }
}

/// What to look at.
#[derive(Debug, Clone)]
pub struct Examination {
    /// Where the clients' files lie.
    pub site: Site,
    /// The state directory.
    pub state: PathBuf,
    /// Whether the project's policy names a workflow.
    pub policy: bool,
    /// Stands before the absolute paths of what manages the whole machine.
    pub machine: PathBuf,
    /// The person's own configuration directory.
    pub configuration: Option<PathBuf>,
}

impl Examination {
    /// Looks at the clients on the `PATH`, under the settings of this machine.
    #[must_use]
    pub fn new(site: Site, state: PathBuf, policy: bool) -> Self {
        Self {
            site,
            state,
            policy,
            machine: PathBuf::from("/"),
            configuration: None,
        }
    }

    /// Returns how it stands when something is missing that the project counts on.
    const fn missing(&self) -> Health {
        if self.policy {
            Health::Fail
        } else {
            Health::Warn
        }
    }

    /// Returns a file of whoever manages the machine.
    fn managed(&self, elsewhere: &str, on_macos: &str) -> PathBuf {
        let path = if cfg!(target_os = "macos") {
            on_macos
        } else {
            elsewhere
        };
        self.machine.join(path.trim_start_matches('/'))
    }
}

/// Looks at everything, in order; starts the clients, the hooks and the servers.
#[must_use]
pub fn examine(examination: &Examination) -> Report {
    let mut clients = Vec::new();
    let mut checks = Vec::new();
    for client in present(examination) {
        let (row, seen) = examine_client(examination, definition(client));
        clients.push(row);
        checks.extend(seen);
    }
    checks.extend(machine::checks(examination));
    checks.extend(confinement::checks(examination));
    checks.extend(watched::checks(examination));
    checks.extend(sessions::checks(examination));
    Report { clients, checks }
}

/// Describes this machine as a hook would find it.
fn environment(examination: &Examination) -> Environment {
    let site = &examination.site;
    let is_home = |name: &std::ffi::OsString| name == "HOME";
    let others = std::env::vars_os().filter(|(name, _)| !is_home(name));
    let home = ("HOME".into(), site.home.clone().into_os_string());
    Environment {
        configuration: examination.configuration.clone(),
        directory: site.project_root.clone(),
        program: Some(site.program.clone()),
        variables: others.chain([home]).collect(),
        at_ms: now_ms(),
        ..Environment::at(Home::at(&examination.state))
    }
}

/// Returns a switch by which a client leaves its hooks out; `None`: none is set.
#[must_use]
pub fn switched_off(client: ClientId, site: &Site, state: &Path) -> Option<Check> {
    let examination = Examination::new(site.clone(), state.to_owned(), true);
    let found = switches::checks(definition(client), &examination);
    found.into_iter().find(|check| check.health == Health::Fail)
}

/// Lists the clients that are here, and those that hooks were put in for.
fn present(examination: &Examination) -> Vec<ClientId> {
    let site = &examination.site;
    let all = ClientId::ALL.iter().map(|(_, client)| *client);
    let present: Vec<ClientId> = all
        .filter(|client| {
            let client = definition(*client);
            client.is_here(site) || hooks::any(client, examination)
        })
        .collect();
    if present.is_empty() {
        vec![ClientId::ClaudeCode]
    } else {
        present
    }
}

fn examine_client(examination: &Examination, client: &'static ClientDef) -> (Row, Vec<Check>) {
    let word = client.client.word();
    let (version, mut checks) = versions::check(client, &examination.site);
    checks.extend(switches::checks(client, examination));
    checks.extend(mods::checks(client, examination));
    let found = hooks::look(client, examination, &mut checks);
    let trusted = trust::check(client, examination, &found, &mut checks);
    let mut answers_ms = None;
    if found.guarding() {
        let (took, answered) =
            probe::lines(client, &found.lines, &examination.site, &examination.state);
        answers_ms = took;
        checks.push(answered);
    }
    let (gateway, served) = servers::check(client, examination);
    checks.extend(served);
    for (seen, advice) in client.not_mediated {
        let seen = (*seen).to_owned();
        checks.push(Check::new(
            word,
            "not mediated",
            Health::Warn,
            seen,
            *advice,
        ));
    }
    let row = Row {
        client: word,
        version,
        hooks: found.found,
        trusted,
        answers_ms,
        gateway,
    };
    (row, checks)
}
