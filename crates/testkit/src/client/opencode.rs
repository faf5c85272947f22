//! Runs opencode: chat completions of a provider in its settings.

use std::io;
use std::process::Command;

use serde_json::json;

use super::words::Words;
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let stub = json!({"type": "local", "command": [stub], "enabled": true});
    let settings = json!({"mcp": {"stub": stub}});
    let text = format!("{settings:#}\n");
    room.write("opencode.json", &text).map(drop)
}

pub(super) fn arrange(command: &mut Command, url: &str) {
    command.args(["run", "Do the scripted thing."]);
    point(command, url);
}

pub(super) fn point(command: &mut Command, url: &str) {
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
        .env("OPENCODE_CONFIG_CONTENT", settings.to_string())
        // It installs a package beside its plugins, and would wait a minute for the network.
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

pub(super) const WORDS: Words = Words {
    read: "read",
    path: "filePath",
    write: "write",
    content: "content",
    old: "oldString",
    new: "newString",
    agent: ("subagent_type", "general"),
    join: "_",
};
