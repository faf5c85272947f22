//! opencode: chat completions of a provider that stands in its settings.

use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::endpoint::Said;
use crate::proposal::Proposal;
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let stub = json!({"type": "local", "command": [stub], "enabled": true});
    let settings = json!({"mcp": {"stub": stub}});
    let text = format!("{settings:#}\n");
    room.write("opencode.json", &text).map(drop)
}

pub(super) fn arrange(command: &mut Command, url: &str) {
    let model = json!({
        "name": "scripted", "tool_call": true, "limit": {"context": 100_000, "output": 4_000},
    });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": model},
        "options": {"baseURL": format!("{url}/v1"), "apiKey": "scripted"},
    });
    let settings = json!({
        "autoupdate": false, "share": "disabled", "provider": {"scripted": provider},
        "model": "scripted/scripted", "small_model": "scripted/scripted",
    });
    command
        .args(["run", "Do the scripted thing."])
        .env("OPENCODE_CONFIG_CONTENT", settings.to_string())
        // It installs a package beside its plugins, and without a network waits a minute for it.
        .env("npm_config_offline", "true")
        .env("npm_config_fetch_retries", "0");
    for what in [
        "MODELS_FETCH",
        "AUTOUPDATE",
        "LSP_DOWNLOAD",
        "DEFAULT_PLUGINS",
    ] {
        command.env(format!("OPENCODE_DISABLE_{what}"), "1");
    }
}

pub(super) fn say(project: &Path, proposal: &Proposal) -> Said {
    let at = |path: &str| project.join(path);
    match proposal {
        Proposal::Read { path } => Said::function("read", json!({"filePath": at(path)})),
        Proposal::Write { path, content } => {
            Said::function("write", json!({"filePath": at(path), "content": content}))
        }
        Proposal::Edit { path, old, new } => Said::function(
            "edit",
            json!({"filePath": at(path), "oldString": old, "newString": new}),
        ),
        Proposal::Shell { line } => {
            Said::function("bash", json!({"command": line, "description": "a line"}))
        }
        Proposal::Tool {
            server,
            tool,
            arguments,
        } => Said::function(format!("{server}_{tool}"), arguments.clone()),
    }
}
