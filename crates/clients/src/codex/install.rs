//! What `init` writes for Codex CLI.

use std::path::PathBuf;

use serde_json::json;

use crate::client::ClientId;
use crate::settings::{
    EditError, Scope, Site,
    client_def::{ClientDef, HooksAs, ServersAs},
    hooks::{DAY_S, HookForm, Member, Timeout},
    json::Syntax,
    servers::{SERVER, gateway_words},
    toml::Text,
};

pub(crate) static FOOTPRINT: ClientDef = ClientDef {
    client: ClientId::Codex,
    title: "Codex CLI",
    programs: &["codex"],
    signs: |site| vec![site.project_root.join(".codex"), site.codex_home.clone()],
    hooks: HooksAs::Json(HookForm {
        client: ClientId::Codex,
        events: &[
            "PreToolUse",
            "PostToolUse",
            "UserPromptSubmit",
            "SessionStart",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
        ],
        settings_only: &[],
        stopping: &["PreToolUse"],
        fails_closed: false,
        grouped: true,
        timeout: Timeout {
            name: "timeout",
            per_s: 1,
            usual_s: 30,
            stopping_s: DAY_S,
        },
        probe: |session, directory| {
            json!({
                "session_id": session, "turn_id": session, "transcript_path": null,
                "cwd": directory, "hook_event_name": "PreToolUse", "model": "none",
                "permission_mode": "default", "tool_name": "Bash",
                "tool_input": { "command": "true" }, "tool_use_id": session,
            })
        },
        line: "command",
        names_event: false,
        version: None,
        syntax: Syntax::Strict,
        members: &[("type", Member::Text("command"))],
        narrowing: &["async"],
    }),
    hook_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".codex/hooks.json"),
        Scope::User => site.codex_home.join("hooks.json"),
    },
    servers: ServersAs::Toml,
    server_file: |site, scope| match scope {
        Scope::Project | Scope::Local => site.project_root.join(".codex/config.toml"),
        Scope::User => site.codex_home.join("config.toml"),
    },
    server: |site, scope| {
        json!({
            "command": site.called(),
            "args": gateway_words(scope),
        })
    },
    files: |_, _| Vec::new(),
    not_mediated: &[
        (
            "what is typed into a program that still runs (`write_stdin`) reaches it without a hook",
            "leave `write_stdin` out of a workflow's tools where that matters",
        ),
        (
            "web search is done by the model's provider, without a hook",
            "set `web_search = \"disabled\"` where it matters; `interlock init --floor` does",
        ),
    ],
};

/// Returns the file for the baseline rules about shell lines.
pub(crate) fn rules_file(site: &Site, scope: Scope) -> PathBuf {
    let directory = match scope {
        Scope::Project | Scope::Local => site.project_root.join(".codex"),
        Scope::User => site.codex_home.clone(),
    };
    directory.join("rules/interlock.rules")
}

const TABLE: [&str; 2] = ["mcp_servers", SERVER];

/// Variables that locate state and configuration: Codex passes its servers few variables, and not these.
pub(crate) const VARIABLES: [&str; 2] = ["XDG_STATE_HOME", "XDG_CONFIG_HOME"];

/// Registers the control server.
pub(crate) fn put_server(
    text: Option<&str>,
    site: &Site,
    scope: Scope,
) -> Result<String, EditError> {
    let mut text = Text::parse(text.unwrap_or_default())?;
    let program = site.called();
    let command = [TABLE[0], TABLE[1], "command"];
    if text.item(&TABLE).is_none() {
        let gateway = toml_edit::Value::from_iter(gateway_words(scope).iter().copied());
        let variables = toml_edit::Value::from_iter(VARIABLES);
        let members = [
            ("command", program.into()),
            ("args", gateway),
            ("env_vars", variables),
        ];
        text.add_table(&TABLE, &members)?;
    } else if !is_ours(&text) {
        let reason = format!("`mcp_servers.{SERVER}` is another server");
        return Err(text.fault(&TABLE, reason));
    } else {
        if text.string(&command) != Some(&program) {
            text.set(&command, &program.into());
        }
        put_words(&mut text, "args", gateway_words(scope));
        put_words(&mut text, "env_vars", &VARIABLES);
    }
    Ok(text.into_string())
}

/// Adds the variables that a control server registered by an older version lacks; the additions of others stay.
fn put_words(text: &mut Text, key: &str, wanted: &[&str]) {
    let path = [TABLE[0], TABLE[1], key];
    let Some(item) = text.item(&path) else {
        let words = toml_edit::Value::from_iter(wanted.iter().copied());
        return text.add_member(&TABLE, key, &words);
    };
    let Some(mut listed) = item.as_array().cloned() else {
        return;
    };
    // Codex accepts the name of a variable, or a table with one.
    let name = |value: &toml_edit::Value| {
        let table = value.as_inline_table().and_then(|table| table.get("name"));
        table.unwrap_or(value).as_str().map(str::to_owned)
    };
    let known: Vec<String> = listed.iter().filter_map(name).collect();
    let is_missing = |word: &&&str| !known.iter().any(|known| known == **word);
    let missing: Vec<&str> = wanted.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        listed.extend(missing);
        text.set(&path, &listed.into());
    }
}

/// Removes the control server; returns `None` if nothing is left.
pub(crate) fn take_server(before: &str) -> Result<Option<String>, EditError> {
    let mut text = Text::parse(before)?;
    if !is_ours(&text) {
        return Ok(Some(before.to_owned()));
    }
    text.remove_table(&TABLE);
    Ok((!text.is_bare()).then(|| text.into_string()))
}

/// Returns the program and arguments of the control server in a configuration.
pub(crate) fn server_in(text: &str) -> Option<(String, Vec<String>)> {
    let text = Text::parse(text).ok()?;
    let command = text.string(&[TABLE[0], TABLE[1], "command"])?.to_owned();
    let arguments = text.item(&[TABLE[0], TABLE[1], "args"])?.as_array()?;
    let arguments = arguments.iter().filter_map(toml_edit::Value::as_str);
    Some((command, arguments.map(str::to_owned).collect()))
}

fn is_ours(text: &Text) -> bool {
    let arguments = text.item(&[TABLE[0], TABLE[1], "args"]);
    let first = arguments.and_then(|item| item.as_array()?.get(0)?.as_str());
    first == Some("gateway")
}
