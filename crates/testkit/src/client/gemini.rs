//! Runs Gemini CLI: the Gemini API, settings in JSON.

use std::fs;
use std::io;
use std::process::Command;

use serde_json::json;

use crate::proposal::Proposal;
use crate::provider::{Say, call};
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let folder = room.home().join(".gemini");
    fs::create_dir_all(&folder)?;
    let settings = json!({
        "general": {"enableAutoUpdate": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"stub": {"command": stub, "args": []}},
    });
    fs::write(folder.join("settings.json"), format!("{settings:#}\n"))
}

pub(super) fn arrange(command: &mut Command, url: &str) {
    command
        .args(["--approval-mode", "yolo"])
        .args(["-p", "Do the scripted thing."]);
    point(command, url);
}

/// Configures Gemini CLI, or a program that starts it, to use a model at `url`, in a trusted folder.
pub(super) fn point(command: &mut Command, url: &str) {
    command
        .env("GOOGLE_GEMINI_BASE_URL", url)
        .env("GEMINI_API_KEY", "scripted")
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        // Otherwise it restarts itself with a larger heap.
        .env("GEMINI_CLI_NO_RELAUNCH", "true");
}

pub(super) fn say(proposal: &Proposal) -> Say {
    match proposal {
        Proposal::Read { path } => call("read_file", json!({"file_path": path})),
        Proposal::Search { word, folder } => {
            call("grep_search", json!({"pattern": word, "dir_path": folder}))
        }
        Proposal::Write { path, content } => {
            call("write_file", json!({"file_path": path, "content": content}))
        }
        Proposal::Edit { path, old, new } => call(
            "replace",
            json!({"file_path": path, "instruction": "an edit", "old_string": old, "new_string": new}),
        ),
        Proposal::Shell { line } => call(
            "run_shell_command",
            json!({"command": line, "description": "a line"}),
        ),
        Proposal::Delegate { task } => call(
            "invoke_agent",
            json!({"agent_name": "generalist", "prompt": task}),
        ),
        Proposal::Tool {
            server,
            tool,
            arguments,
        } => call(format!("mcp_{server}_{tool}"), arguments.clone()),
    }
}
