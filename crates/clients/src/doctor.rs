//! What `doctor` finds out by trying: whether a client is guarded, and what its version means.

mod probe;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::install::{self, EVENTS, HookState, InstallError, Scope, Site};

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
}

/// Looks at everything, in order; starts the client, the hooks and the server.
#[must_use]
pub fn examine(examination: &Examination) -> Vec<Check> {
    let mut checks = vec![version()];
    checks.extend(hooks(examination));
    checks.extend(server(examination));
    checks.push(Check::new(
        "not mediated",
        Health::Warn,
        "files named with `@` in a prompt are read by the client without a hook",
        "deny such reads in the client's own rules where it matters",
    ));
    checks.push(state(examination));
    checks.push(Check {
        of: "interlock",
        ..Check::new(
            "containment",
            Health::Warn,
            "none in this version: shell lines are read, not confined",
            "run the agent in a container where what it starts must not reach the machine",
        )
    });
    checks
}

/// Tells whether a client that is believed guarded is not.
#[must_use]
pub fn fails(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.health == Health::Fail)
}

fn version() -> Check {
    let Some(text) = probe::version("claude") else {
        return Check::new("version", Health::Warn, "not found on PATH", "");
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

fn hooks(examination: &Examination) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut command = None;
    let mut anything = false;
    for scope in [Scope::Project, Scope::User] {
        let path = examination.site.settings(scope);
        let settings = match parsed(&path) {
            Ok(Some(settings)) => settings,
            Ok(None) => continue,
            Err(why) => {
                checks.push(Check::new(
                    "settings",
                    Health::Fail,
                    why,
                    "mend the file, then run `interlock init`",
                ));
                continue;
            }
        };
        if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
            let seen = format!("`disableAllHooks` is set in {}", path.display());
            checks.push(Check::new(
                "settings",
                Health::Fail,
                seen,
                "remove it: no hook runs",
            ));
        }
        let states: Vec<HookState> = EVENTS
            .iter()
            .map(|event| HookState::of(&settings, event, &examination.site))
            .collect();
        if states.iter().all(|state| *state == HookState::Missing) {
            continue;
        }
        anything = true;
        let missing: Vec<&str> = EVENTS
            .iter()
            .zip(&states)
            .filter(|(_, state)| !matches!(state, HookState::Complete(_)))
            .map(|(event, _)| *event)
            .collect();
        if missing.is_empty() {
            checks.push(Check::new(
                "hooks",
                Health::Ok,
                format!("all in {}", path.display()),
                "",
            ));
        } else {
            let seen = format!(
                "missing or incomplete in {}: {}",
                path.display(),
                missing.join(", ")
            );
            checks.push(Check::new(
                "hooks",
                Health::Fail,
                seen,
                "run `interlock init`",
            ));
        }
        command = command.or_else(|| {
            states.into_iter().find_map(|state| match state {
                HookState::Complete(command) => Some(command),
                _ => None,
            })
        });
    }
    checks.extend(local_switch(examination));
    match (command, anything) {
        (Some(command), _) => checks.push(probed_hook(examination, &command)),
        (None, true) => {}
        (None, false) => {
            let health = if examination.policy {
                Health::Fail
            } else {
                Health::Warn
            };
            checks.push(Check::new(
                "hooks",
                health,
                "none: sessions here are not guarded",
                "run `interlock init`",
            ));
        }
    }
    checks
}

/// Looks for the switch in settings that no project shares.
fn local_switch(examination: &Examination) -> Option<Check> {
    let path = examination
        .site
        .project_root
        .join(".claude")
        .join("settings.local.json");
    let settings = parsed(&path).ok().flatten()?;
    (settings.get("disableAllHooks") == Some(&Value::Bool(true))).then(|| {
        let seen = format!("`disableAllHooks` is set in {}", path.display());
        Check::new("settings", Health::Fail, seen, "remove it: no hook runs")
    })
}

fn parsed(path: &std::path::Path) -> Result<Option<Value>, String> {
    let text = install::read(path).map_err(|error: InstallError| error.to_string())?;
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| format!("`{}` is not JSON: {error}", path.display()))
}

fn probed_hook(examination: &Examination, command: &str) -> Check {
    match probe::hook(command, &examination.site.project_root) {
        Ok(took_ms) => Check {
            took_ms: Some(took_ms),
            ..Check::new("hook answers", Health::Ok, format!("in {took_ms} ms"), "")
        },
        Err(why) => Check::new(
            "hook answers",
            Health::Fail,
            why,
            "run `interlock init` with the program you use",
        ),
    }
}

fn server(examination: &Examination) -> Option<Check> {
    let found = [Scope::Project, Scope::User].into_iter().find_map(|scope| {
        let settings = parsed(&examination.site.servers(scope)).ok().flatten()?;
        settings.pointer("/mcpServers/interlock").cloned()
    });
    let Some(server) = found else {
        let health = if examination.policy {
            Health::Fail
        } else {
            Health::Warn
        };
        return Some(Check::new(
            "control server",
            health,
            "not registered",
            "run `interlock init`",
        ));
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let command = server.get("command").and_then(text).unwrap_or_default();
    let arguments = server
        .get("args")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let arguments: Vec<String> = arguments.iter().filter_map(text).collect();
    Some(
        match probe::server(&command, &arguments, &examination.site.project_root) {
            Ok(took_ms) => Check {
                took_ms: Some(took_ms),
                ..Check::new(
                    "control server",
                    Health::Ok,
                    format!("answers in {took_ms} ms"),
                    "",
                )
            },
            Err(why) => Check::new(
                "control server",
                Health::Fail,
                why,
                "run `interlock init` with the program you use",
            ),
        },
    )
}

fn state(examination: &Examination) -> Check {
    let path = &examination.state;
    let writable =
        std::fs::create_dir_all(path).and_then(|()| tempfile::NamedTempFile::new_in(path));
    let check = match writable {
        Ok(_) => Check::new(
            "state directory",
            Health::Ok,
            path.display().to_string(),
            "",
        ),
        Err(error) => Check::new(
            "state directory",
            Health::Fail,
            format!("`{}` cannot be written: {error}", path.display()),
            "make it writable: every call of a guarded session is denied until then",
        ),
    };
    Check {
        of: "interlock",
        ..check
    }
}
