//! What `doctor` finds out by trying: whether a client is guarded, and how well its version is supported.

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

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nothing is wrong.
    Ok,
    /// Something a person should know.
    Warn,
    /// A client that is supposed to be guarded is not.
    Fail,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The client, or `interlock`.
    pub of: &'static str,
    /// Subject of the check.
    pub what: &'static str,
    /// Result of the check.
    pub health: Health,
    /// What was observed.
    pub seen: String,
    /// What to do; empty if nothing is to be done.
    pub advice: String,
    /// How long the answer took, in milliseconds; the median of several tries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// Summary of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The client.
    pub client: &'static str,
    /// Version of the client; `None` if its program was not found.
    pub version: Option<String>,
    /// How many of its hooks are installed.
    pub hooks: Found,
    /// Whether the client trusts the hooks; `None` if it has no such trust, or cannot be asked.
    pub trusted: Option<bool>,
    /// How long a hook takes to answer, in milliseconds; the median of several tries.
    pub answers_ms: Option<u64>,
    /// Whether the control server answers; `None` if it is not registered.
    pub gateway: Option<bool>,
}

/// How much of an installation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Everything.
    All,
    /// Only a part, or not in the right form.
    Some,
    /// Nothing.
    None,
}

/// Everything that was examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One row per client.
    pub clients: Vec<Row>,
    /// The checks, in order.
    pub checks: Vec<Check>,
}

impl Report {
    /// Returns whether a client that is supposed to be guarded is not.
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

    /// Creates a check of Interlock itself.
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

/// What to examine.
#[derive(Debug, Clone)]
pub struct Examination {
    /// Locations of the clients' files.
    pub site: Site,
    /// The state directory.
    pub state: PathBuf,
    /// Whether the project's policy names a workflow.
    pub policy: bool,
    /// Prefix of the absolute paths of machine-wide settings.
    pub machine: PathBuf,
    /// The person's own configuration directory.
    pub configuration: Option<PathBuf>,
}

impl Examination {
    /// Creates an examination of the clients on the `PATH`, with the machine-wide settings of this machine.
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

    /// Returns the result for something that the project relies on and that is missing.
    const fn missing(&self) -> Health {
        if self.policy {
            Health::Fail
        } else {
            Health::Warn
        }
    }

    /// Returns the path of a machine-wide settings file.
    fn managed(&self, elsewhere: &str, on_macos: &str) -> PathBuf {
        let path = if cfg!(target_os = "macos") {
            on_macos
        } else {
            elsewhere
        };
        self.machine.join(path.trim_start_matches('/'))
    }
}

/// Runs all checks in order; starts the clients, the hooks and the servers.
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

/// Returns a switch with which a client skips its hooks; `None` if none is set.
#[must_use]
pub fn switched_off(client: ClientId, site: &Site, state: &Path) -> Option<Check> {
    let examination = Examination::new(site.clone(), state.to_owned(), true);
    let found = switches::checks(definition(client), &examination);
    found.into_iter().find(|check| check.health == Health::Fail)
}

/// Lists the clients that are installed, and those for which hooks were installed.
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
