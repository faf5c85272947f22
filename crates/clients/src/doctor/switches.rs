//! Switches with which each client skips hooks.

use std::path::PathBuf;

use serde_json::Value;

use super::{Check, Examination, Health, hooks};
use crate::{
    client::ClientId,
    install,
    mods::children,
    settings::{self, Scope, Syntax, client_def::ClientDef},
};

/// A switch: where it applies and what it does.
struct Switch {
    file: PathBuf,
    read_as: ReadAs,
    /// Keys that lead to it.
    at: &'static [&'static str],
    off: fn(&Value) -> bool,
    advice: &'static str,
}

#[derive(Clone, Copy)]
enum ReadAs {
    Json(Syntax),
    Toml,
}

/// Reports every switch that prevents a client's hooks from running.
pub(super) fn checks(client: &ClientDef, examination: &Examination) -> Vec<Check> {
    let word = client.client.word();
    let switches = match client.client {
        ClientId::ClaudeCode => claude_code(examination),
        ClientId::Codex => codex(examination),
        ClientId::Gemini => gemini(examination),
        ClientId::Copilot => copilot(examination),
        ClientId::Opencode => return opencode(word),
        ClientId::Cursor => Vec::new(),
    };
    let set = switches.into_iter().filter_map(|switch| {
        let settings = match switch.read_as {
            ReadAs::Json(syntax) => settings::parsed(&switch.file, syntax),
            ReadAs::Toml => settings::parsed_toml(&switch.file),
        };
        // A file that cannot be read is reported by the check of its hooks.
        let settings = settings.ok().flatten()?;
        let value = switch
            .at
            .iter()
            .try_fold(&settings, |value, key| value.get(*key))?;
        (switch.off)(value).then(|| {
            let key = switch.at.join(".");
            let seen = format!("`{key}` is set in {}", switch.file.display());
            Check::new(word, "settings", Health::Fail, seen, switch.advice)
        })
    });
    set.collect()
}

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true)
}

fn is_false(value: &Value) -> bool {
    *value == Value::Bool(false)
}

const NO_HOOK: &str = "remove it: no hook runs";
const ONLY_MANAGED: &str = "have the hooks put into the managed settings: no other hook runs";

/// Lists the settings files of Claude Code, the most specific first.
pub(super) fn claude_code_files(examination: &Examination) -> Vec<PathBuf> {
    let site = &examination.site;
    let shared = install::hook_file(ClientId::ClaudeCode, site, Scope::Project);
    vec![
        shared.clone(),
        shared.with_file_name("settings.local.json"),
        install::hook_file(ClientId::ClaudeCode, site, Scope::User),
        hooks::managed(examination),
    ]
}

fn claude_code(examination: &Examination) -> Vec<Switch> {
    let switch = |file, at, advice| Switch {
        file,
        read_as: ReadAs::Json(Syntax::Strict),
        at,
        off: is_true,
        advice,
    };
    let files = claude_code_files(examination).into_iter();
    let mut switches: Vec<Switch> = files
        .map(|file| switch(file, &["disableAllHooks"], NO_HOOK))
        .collect();
    let managed = hooks::managed(examination);
    switches.push(switch(managed, &["allowManagedHooksOnly"], ONLY_MANAGED));
    switches
}

fn codex(examination: &Examination) -> Vec<Switch> {
    let switch = |file, at, off, advice| Switch {
        file,
        read_as: ReadAs::Toml,
        at,
        off,
        advice,
    };
    let site = &examination.site;
    let managed = examination.managed(
        "/etc/codex/requirements.toml",
        "/etc/codex/requirements.toml",
    );
    let system = examination.managed("/etc/codex/config.toml", "/etc/codex/config.toml");
    let project = site.project_root.join(".codex/config.toml");
    let user = site.codex_home.join("config.toml");
    let mut switches = vec![switch(
        managed,
        &["allow_managed_hooks_only"],
        is_true as fn(&Value) -> bool,
        ONLY_MANAGED,
    )];
    // Profiles, which `--profile` adds, are files of the same format.
    let profiles = children(&site.codex_home).into_iter().filter(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(".config.toml"))
    });
    for file in [project, user, system].into_iter().chain(profiles) {
        for at in [&["features", "hooks"], &["features", "codex_hooks"]] {
            switches.push(switch(file.clone(), at, is_false, NO_HOOK));
        }
    }
    switches
}

/// Reports the variables with which opencode loads no plugin, or none of a project.
fn opencode(word: &'static str) -> Vec<Check> {
    let set = OPENCODE.iter().filter_map(|(name, does)| {
        let value = std::env::var(name).ok()?;
        is_on(&value).then(|| {
            let seen = format!("`{name}` is set here: {does}");
            Check::new(word, "settings", Health::Fail, seen, "unset it")
        })
    });
    set.collect()
}

/// Variables that prevent opencode from loading the plugin, and their effect.
pub(super) const OPENCODE: [(&str, &str); 2] = [
    ("OPENCODE_PURE", "opencode loads no plugin"),
    (
        "OPENCODE_DISABLE_PROJECT_CONFIG",
        "opencode loads no plugin of a project",
    ),
];

/// Returns whether opencode treats a variable as set.
pub(super) fn is_on(value: &str) -> bool {
    value == "1" || value.eq_ignore_ascii_case("true")
}

fn gemini(examination: &Examination) -> Vec<Switch> {
    let names_ours = |value: &Value| {
        let mut names = value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        names.any(|name| name == "interlock" || name.contains("hook gemini"))
    };
    let system = examination.managed(
        "/etc/gemini-cli/settings.json",
        "/Library/Application Support/GeminiCli/settings.json",
    );
    let files = [
        install::hook_file(ClientId::Gemini, &examination.site, Scope::Project),
        install::hook_file(ClientId::Gemini, &examination.site, Scope::User),
        system,
    ];
    let pairs = files.into_iter().flat_map(|file| {
        let switch = |at, off, advice| Switch {
            file: file.clone(),
            read_as: ReadAs::Json(Syntax::Comments),
            at,
            off,
            advice,
        };
        [
            switch(&["hooksConfig", "enabled"], is_false, NO_HOOK),
            switch(
                &["hooksConfig", "disabled"],
                names_ours,
                "remove `interlock` from the list: its hooks do not run",
            ),
        ]
    });
    pairs.collect()
}

fn copilot(examination: &Examination) -> Vec<Switch> {
    let site = &examination.site;
    let files = [
        site.copilot_home.join("settings.json"),
        site.copilot_home.join("config.json"),
        site.project_root.join(".github/copilot/settings.json"),
        site.project_root
            .join(".github/copilot/settings.local.json"),
    ];
    let switches = files.into_iter().map(|file| Switch {
        file,
        read_as: ReadAs::Json(Syntax::Loose),
        at: &["disableAllHooks"],
        off: is_true,
        advice: NO_HOOK,
    });
    switches.collect()
}
