//! What the client's settings say about hooks, from every file that counts.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Check, Examination, Health};
use crate::install::{self, EVENTS, HookState, Scope, Site};

/// The settings of the client, the narrowest first.
pub(super) struct Settings {
    files: Vec<File>,
}

struct File {
    path: PathBuf,
    settings: Value,
    /// Given by whoever manages the machine.
    managed: bool,
    /// One of those that `init` writes.
    installed: bool,
}

impl Settings {
    /// Reads every settings file; one that cannot be read is a check of its own.
    pub(super) fn read(examination: &Examination, checks: &mut Vec<Check>) -> Self {
        let site = &examination.site;
        let shared = site.settings(Scope::Project);
        let local = shared.with_file_name("settings.local.json");
        let places = [
            (shared, false, true),
            (local, false, false),
            (site.settings(Scope::User), false, true),
            (examination.managed.clone(), true, false),
        ];
        let mut files = Vec::new();
        for (path, managed, installed) in places {
            match parsed(&path) {
                Ok(Some(settings)) => files.push(File {
                    path,
                    settings,
                    managed,
                    installed,
                }),
                Ok(None) => {}
                Err(why) => checks.push(Check::new(
                    "settings",
                    Health::Fail,
                    why,
                    "mend the file, then run `interlock init`",
                )),
            }
        }
        Self { files }
    }

    /// Reports every switch that keeps hooks from running.
    pub(super) fn switches(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for file in &self.files {
            let is_set = |key: &str| file.settings.get(key) == Some(&Value::Bool(true));
            let seen = |key: &str| format!("`{key}` is set in {}", file.path.display());
            if is_set("disableAllHooks") {
                checks.push(Check::new(
                    "settings",
                    Health::Fail,
                    seen("disableAllHooks"),
                    "remove it: no hook runs",
                ));
            }
            if file.managed && is_set("allowManagedHooksOnly") {
                checks.push(Check::new(
                    "settings",
                    Health::Fail,
                    seen("allowManagedHooksOnly"),
                    "have the hooks put into the managed settings: no other hook runs",
                ));
            }
        }
        checks
    }

    /// Reports the hooks of each file, and returns the first whole command.
    pub(super) fn hooks(&self, site: &Site) -> (Vec<Check>, Option<String>) {
        let mut checks = Vec::new();
        let mut command = None;
        for file in &self.files {
            let states: Vec<HookState> = EVENTS
                .iter()
                .map(|event| HookState::of(&file.settings, event, site))
                .collect();
            if states.iter().all(|state| *state == HookState::Missing) {
                continue;
            }
            checks.push(complete(file, &states));
            command = command.or_else(|| {
                states.into_iter().find_map(|state| match state {
                    HookState::Complete(command) => Some(command),
                    HookState::Missing | HookState::Incomplete => None,
                })
            });
        }
        // One file with every hook guards, whatever another lacks.
        if checks.iter().any(|check| check.health == Health::Ok) {
            for check in &mut checks {
                if check.health == Health::Fail {
                    check.health = Health::Warn;
                }
            }
        }
        (checks, command)
    }

    /// Reports that the control server is switched off.
    pub(super) fn server_switch(&self) -> Option<Check> {
        let file = self.files.iter().find(|file| {
            let off = file.settings.get("disabledMcpjsonServers");
            let mut names = off.and_then(Value::as_array).into_iter().flatten();
            names.any(|name| name == "interlock")
        })?;
        Some(Check::new(
            "control server",
            Health::Warn,
            format!("switched off in {}", file.path.display()),
            "remove `interlock` from `disabledMcpjsonServers`: the agent cannot ask for a transition",
        ))
    }
}

/// Says which hooks of one file are as they should be.
fn complete(file: &File, states: &[HookState]) -> Check {
    let place = file.path.display();
    let of = |wanted: &HookState| -> Vec<&str> {
        let pairs = EVENTS.iter().zip(states);
        let found = pairs.filter(|(_, state)| *state == wanted);
        found.map(|(event, _)| *event).collect()
    };
    let (missing, incomplete) = (of(&HookState::Missing), of(&HookState::Incomplete));
    if missing.is_empty() && incomplete.is_empty() {
        return Check::new("hooks", Health::Ok, format!("all in {place}"), "");
    }
    let mut seen = Vec::new();
    if !missing.is_empty() {
        seen.push(format!("missing in {place}: {}", missing.join(", ")));
    }
    if !incomplete.is_empty() {
        let names = incomplete.join(", ");
        seen.push(format!(
            "in {place} without `onFailure: \"block\"`, or not for every tool: {names}"
        ));
    }
    let advice = if file.installed {
        "run `interlock init`"
    } else {
        "mend them there, or take them out and run `interlock init`"
    };
    Check::new("hooks", Health::Fail, seen.join("; "), advice)
}

/// Reads a JSON file; `None`: there is none.
pub(super) fn parsed(path: &Path) -> Result<Option<Value>, String> {
    let text = install::read(path).map_err(|error| error.to_string())?;
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| format!("`{}` is not JSON: {error}", path.display()))
}
