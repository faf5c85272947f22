//! What `doctor` finds out by trying: whether a client is guarded, and what its version means.

mod confinement;
mod probe;
mod settings;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::install::{Scope, Site};
use settings::Settings;

/// The first version that honours `onFailure`.
const HONOURS_ON_FAILURE: [u64; 3] = [2, 1, 295];

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
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
    /// How long the answer took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

impl Check {
    fn new(
        what: &'static str,
        health: Health,
        seen: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            of: "claude-code",
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
        Self {
            of: "interlock",
            ..Self::new(what, health, seen, advice)
        }
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
    /// Where the client's files lie.
    pub site: Site,
    /// The state directory.
    pub state: PathBuf,
    /// Whether the project's policy names a workflow.
    pub policy: bool,
    /// The client's program: a name on the `PATH`, or a path.
    pub client: PathBuf,
    /// The settings that whoever manages the machine gives the client.
    pub managed: PathBuf,
    /// The person's own configuration directory.
    pub configuration: Option<PathBuf>,
}

impl Examination {
    /// Looks at the client on the `PATH`, under the settings of this machine.
    #[must_use]
    pub fn new(site: Site, state: PathBuf, policy: bool) -> Self {
        let managed = if cfg!(target_os = "macos") {
            "/Library/Application Support/ClaudeCode/managed-settings.json"
        } else {
            "/etc/claude-code/managed-settings.json"
        };
        Self {
            site,
            state,
            policy,
            client: "claude".into(),
            managed: managed.into(),
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
}

/// Looks at everything, in order; starts the client, the hooks and the server.
#[must_use]
pub fn examine(examination: &Examination) -> Vec<Check> {
    let mut checks = vec![version(&examination.client)];
    let settings = Settings::read(examination, &mut checks);
    checks.extend(settings.switches());
    checks.extend(hooks(examination, &settings));
    checks.push(server(examination));
    checks.extend(settings.server_switch());
    checks.push(Check::new(
        "not mediated",
        Health::Warn,
        "files named with `@` in a prompt are read by the client without a hook",
        "deny such reads in the client's own rules where it matters",
    ));
    checks.push(state(&examination.state));
    checks.push(git());
    checks.extend(confinement::checks(examination));
    checks
}

/// Tells whether a client that is believed guarded is not.
#[must_use]
pub fn fails(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.health == Health::Fail)
}

fn version(client: &Path) -> Check {
    let Some(text) = probe::version(client) else {
        let seen = format!("`{}` cannot be started", client.display());
        return Check::new("version", Health::Warn, seen, "");
    };
    let number = text.split_whitespace().next().unwrap_or_default();
    let parts: Vec<u64> = number
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    if parts.as_slice() >= HONOURS_ON_FAILURE.as_slice() {
        return Check::new("version", Health::Ok, number, "");
    }
    Check::new(
        "version",
        Health::Warn,
        number,
        "this version ignores `onFailure`: a tool call RUNS although its hook crashed, was killed or timed out; use 2.1.295 or newer",
    )
}

/// Looks for the hooks and calls the first that is as it should be.
fn hooks(examination: &Examination, settings: &Settings) -> Vec<Check> {
    let (mut checks, command) = settings.hooks(&examination.site);
    if let Some(command) = command {
        checks.push(probed_hook(examination, &command));
    } else if checks.is_empty() {
        checks.push(Check::new(
            "hooks",
            examination.missing(),
            "none: sessions here are not guarded",
            "run `interlock init`",
        ));
    }
    checks
}

fn probed_hook(examination: &Examination, command: &str) -> Check {
    match probe::hook(command, &examination.site.project_root) {
        Ok(took_ms) => {
            let seen = format!("in {took_ms} ms");
            Check::new("hook answers", Health::Ok, seen, "").after(took_ms)
        }
        Err(why) => Check::new(
            "hook answers",
            Health::Fail,
            why,
            "run `interlock init` with the program you use",
        ),
    }
}

fn server(examination: &Examination) -> Check {
    let found = [Scope::Project, Scope::User].into_iter().find_map(|scope| {
        let registered = settings::parsed(&examination.site.servers(scope));
        registered
            .ok()
            .flatten()?
            .pointer("/mcpServers/interlock")
            .cloned()
    });
    let Some(server) = found else {
        return Check::new(
            "control server",
            examination.missing(),
            "not registered",
            "run `interlock init`",
        );
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let command = server.get("command").and_then(text).unwrap_or_default();
    let arguments = server.get("args").and_then(Value::as_array);
    let arguments: Vec<String> = arguments.into_iter().flatten().filter_map(text).collect();
    match probe::server(&command, &arguments, &examination.site.project_root) {
        Ok(took_ms) => {
            let seen = format!("answers in {took_ms} ms");
            Check::new("control server", Health::Ok, seen, "").after(took_ms)
        }
        Err(why) => Check::new(
            "control server",
            Health::Fail,
            why,
            "run `interlock init` with the program you use",
        ),
    }
}

fn state(path: &Path) -> Check {
    let writable =
        std::fs::create_dir_all(path).and_then(|()| tempfile::NamedTempFile::new_in(path));
    match writable {
        Ok(_) => Check::own(
            "state directory",
            Health::Ok,
            path.display().to_string(),
            "",
        ),
        Err(error) => Check::own(
            "state directory",
            Health::Fail,
            format!("`{}` cannot be written: {error}", path.display()),
            "make it writable: every call of a guarded session is denied until then",
        ),
    }
}

fn git() -> Check {
    match probe::version(Path::new("git")) {
        Some(version) => Check::own("git", Health::Ok, version, ""),
        None => Check::own(
            "git",
            Health::Warn,
            "not found on PATH",
            "install it: without version control nothing that an agent wrote can be taken back",
        ),
    }
}
