//! Interlock's hooks in every file that a client reads.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Check, Examination, Found, Health};
use crate::{
    client::ClientId,
    plugins::{self, NAME},
    settings::{
        self, HookState, Scope,
        client_def::{ClientDef, HooksAs},
        hooks::HookForm,
    },
};

/// The hooks found for a client.
#[derive(Debug)]
pub(super) struct Hooks {
    /// How many were found, in the most complete file.
    pub(super) found: Found,
    /// Every correct command line, without duplicates.
    pub(super) lines: Vec<HookCommand>,
    /// Files that contain any of the hooks.
    pub(super) files: Vec<(PathBuf, Scope)>,
    /// Files among these that belong to a plugin.
    pub(super) of_plugin: Vec<PathBuf>,
}

/// What the client starts for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookCommand {
    /// A line for a shell.
    Shell(String),
    /// A program that a plugin calls.
    Program(String),
}

impl Hooks {
    /// Returns whether any hook could answer.
    pub(super) fn guarding(&self) -> bool {
        !self.lines.is_empty()
    }
}

/// A file that may contain hooks.
struct File {
    path: PathBuf,
    scope: Scope,
    /// Whether it is a file that `init` writes.
    installed: bool,
    /// Whether it is a file of a plugin.
    in_plugin: bool,
}

/// Returns whether a client has any hook of Interlock.
pub(super) fn any(client: &'static ClientDef, examination: &Examination) -> bool {
    files(client, examination).iter().any(|file| {
        states(client, file, examination)
            .is_ok_and(|states| states.iter().any(|(_, state)| *state != HookState::Missing))
    })
}

fn files(client: &ClientDef, examination: &Examination) -> Vec<File> {
    let site = &examination.site;
    let file = |path, scope, installed| File {
        path,
        scope,
        installed,
        in_plugin: false,
    };
    let project = (client.hook_file)(site, Scope::Project);
    let user = (client.hook_file)(site, Scope::User);
    let mut files = vec![file(project.clone(), Scope::Project, true)];
    if client.client == ClientId::ClaudeCode {
        let local = (client.hook_file)(site, Scope::Local);
        files.push(file(local, Scope::Local, true));
    }
    if user != project {
        files.push(file(user, Scope::User, true));
    }
    if client.client == ClientId::ClaudeCode {
        files.push(file(managed(examination), Scope::User, false));
    }
    let plugins = plugins::installed(client.client, site).into_iter();
    let enabled = plugins.filter(|plugin| plugin.enabled).map(|plugin| {
        let code = plugins::code(client.client).filter(|_| client.form().is_none());
        plugin
            .folder
            .join(code.map_or(plugins::HOOKS, |(name, _)| name))
    });
    files.extend(enabled.map(|path| File {
        in_plugin: true,
        ..file(path, Scope::User, false)
    }));
    files
}

/// Returns the managed settings of Claude Code.
pub(super) fn managed(examination: &Examination) -> PathBuf {
    examination.managed(
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    )
}

type States = Vec<(&'static str, HookState)>;

/// Returns the state of each hook in a file; a missing file has none.
fn states(
    client: &'static ClientDef,
    file: &File,
    examination: &Examination,
) -> Result<States, String> {
    let (site, path) = (&examination.site, &file.path);
    match &client.hooks {
        HooksAs::Json(form) => {
            let settings = parsed(path, form)?.unwrap_or_default();
            let states = form.events.iter();
            let states =
                states.filter(|event| !file.in_plugin || !form.settings_only.contains(event));
            Ok(states
                .map(|event| (*event, form.state(&settings, event, site)))
                .collect())
        }
        HooksAs::Plugin(text) => {
            let found = settings::read(path).map_err(|error| error.to_string())?;
            let state = match found {
                None => HookState::Missing,
                Some(found)
                    if plugins::code(client.client).is_some_and(|(_, code)| code == found) =>
                {
                    HookState::Complete(NAME.to_owned())
                }
                Some(found) => match settings::code::program_in(&found) {
                    Some(program) if found == text(&site.with_program(&program)) => {
                        HookState::Complete(program)
                    }
                    _ => HookState::Incomplete,
                },
            };
            Ok(vec![("the plugin", state)])
        }
    }
}

/// Examines every file, and reports missing and duplicate hooks.
pub(super) fn look(
    client: &'static ClientDef,
    examination: &Examination,
    checks: &mut Vec<Check>,
) -> Hooks {
    let word = client.client.word();
    let mut hooks = Hooks {
        found: Found::None,
        lines: Vec::new(),
        files: Vec::new(),
        of_plugin: Vec::new(),
    };
    let mut own = Vec::new();
    for file in files(client, examination) {
        let states = match states(client, &file, examination) {
            Ok(states) => states,
            Err(why) => {
                let advice = "correct the file, then run `interlock init`";
                checks.push(Check::new(word, "settings", Health::Fail, why, advice));
                continue;
            }
        };
        if states.iter().all(|(_, state)| *state == HookState::Missing) {
            continue;
        }
        own.push(complete(word, &file, &states));
        for (_, state) in states {
            let HookState::Complete(line) = state else {
                continue;
            };
            let line = match client.hooks {
                HooksAs::Json(_) => HookCommand::Shell(line),
                HooksAs::Plugin(_) => HookCommand::Program(line),
            };
            if !hooks.lines.contains(&line) {
                hooks.lines.push(line);
            }
        }
        if file.in_plugin {
            hooks.of_plugin.push(file.path.clone());
        }
        hooks.files.push((file.path, file.scope));
    }
    // One file with every hook is enough to guard, whatever another file lacks.
    hooks.found = if own.iter().any(|check| check.health == Health::Ok) {
        for check in own.iter_mut().filter(|check| check.health == Health::Fail) {
            check.health = Health::Warn;
        }
        Found::All
    } else if own.is_empty() {
        own.push(Check::new(
            word,
            "hooks",
            examination.missing(),
            "none: sessions here are not guarded",
            format!("run `interlock init {word}`"),
        ));
        Found::None
    } else {
        Found::Some
    };
    checks.extend(own);
    checks.extend(twice(client, &hooks));
    hooks
}

/// Reports that the project and the person have the same hooks, if the client runs both.
fn twice(client: &ClientDef, hooks: &Hooks) -> Option<Check> {
    let [(one, _), .., (other, _)] = hooks.files.as_slice() else {
        return None;
    };
    let word = client.client.word();
    if let Some(plugin) = hooks.of_plugin.first() {
        let settings = hooks.files.iter().map(|(path, _)| path);
        let settings: Vec<String> = settings
            .filter(|path| !hooks.of_plugin.contains(path))
            .map(|path| path.display().to_string())
            .collect();
        if settings.is_empty() {
            return None;
        }
        let seen = format!(
            "in the plugin at {} and in {}: each call is judged once",
            plugin.display(),
            settings.join(", ")
        );
        let advice =
            "one of them is enough: `interlock init --remove` takes out what it has written";
        return Some(Check::new(word, "hooks", Health::Ok, seen, advice));
    }
    let (seen, advice) = match client.client {
        // The client runs a duplicate line only once.
        ClientId::ClaudeCode if hooks.lines.len() <= 2 => return None,
        _ => (
            format!("in {} and in {}", one.display(), other.display()),
            "take one of them out with `interlock init --remove`: a call may be judged and counted twice",
        ),
    };
    Some(Check::new(word, "hooks", Health::Warn, seen, advice))
}

/// Reports which hooks of one file are correct.
fn complete(word: &'static str, file: &File, states: &States) -> Check {
    let place = file.path.display();
    let of = |wanted: &HookState| -> Vec<&str> {
        let found = states.iter().filter(|(_, state)| state == wanted);
        found.map(|(event, _)| *event).collect()
    };
    let (missing, incomplete) = (of(&HookState::Missing), of(&HookState::Incomplete));
    if missing.is_empty() && incomplete.is_empty() {
        return Check::new(word, "hooks", Health::Ok, format!("all in {place}"), "");
    }
    let mut seen = Vec::new();
    if !missing.is_empty() {
        seen.push(format!("missing in {place}: {}", missing.join(", ")));
    }
    if !incomplete.is_empty() {
        let names = incomplete.join(", ");
        seen.push(format!(
            "in {place} not for every call, or not so that a failure blocks: {names}"
        ));
    }
    let advice = if file.in_plugin {
        "update the plugin, so that it is of the same version as the program".to_owned()
    } else if file.installed {
        format!("run `interlock init {word}`")
    } else {
        "correct them there, or remove them and run `interlock init`".to_owned()
    };
    Check::new(word, "hooks", Health::Fail, seen.join("; "), advice)
}

/// Reads a file of hooks; returns `None` if it does not exist.
fn parsed(path: &Path, form: &HookForm) -> Result<Option<Value>, String> {
    settings::parsed(path, form.syntax)
}
