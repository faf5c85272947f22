//! Copilot CLI: chat completions of a provider of one's own, offline.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::endpoint::Said;
use crate::proposal::Proposal;
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let folder = room.home().join(".copilot");
    fs::create_dir_all(&folder)?;
    // Hooks of a folder that is not trusted are skipped without a word.
    let settings = json!({"trustedFolders": [room.project()]});
    fs::write(folder.join("config.json"), format!("{settings:#}\n"))?;
    let stub = json!({"type": "local", "command": stub, "args": [], "tools": ["*"]});
    let servers = json!({"mcpServers": {"stub": stub}});
    fs::write(folder.join("mcp-config.json"), format!("{servers:#}\n"))
}

pub(super) fn arrange(command: &mut Command, url: &str) {
    command
        .args(["-p", "Do the scripted thing.", "--allow-all-tools"])
        .args(["--allow-all-paths", "--no-color"])
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
        .env("COPILOT_PROVIDER_API_KEY", "scripted")
        .env("COPILOT_MODEL", "gpt-5")
        // It unpacks itself there when it is not yet there: once for all rooms.
        .env("XDG_CACHE_HOME", super::installed().join(".cache"));
}

pub(super) fn say(project: &Path, proposal: &Proposal) -> Said {
    let at = |path: &str| project.join(path);
    match proposal {
        Proposal::Read { path } => Said::function("view", json!({"path": at(path)})),
        Proposal::Write { path, content } => {
            Said::function("create", json!({"path": at(path), "file_text": content}))
        }
        Proposal::Edit { path, old, new } => Said::function(
            "edit",
            json!({"path": at(path), "old_str": old, "new_str": new}),
        ),
        Proposal::Shell { line } => {
            Said::function("bash", json!({"command": line, "description": "a line"}))
        }
        Proposal::Tool {
            server,
            tool,
            arguments,
        } => Said::function(format!("{server}-{tool}"), arguments.clone()),
    }
}
