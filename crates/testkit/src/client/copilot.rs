//! Runs Copilot CLI: chat completions of a custom provider, offline.

use std::fs;
use std::io;
use std::process::Command;

use serde_json::json;

use super::words::Words;
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let folder = room.home().join(".copilot");
    fs::create_dir_all(&folder)?;
    // Hooks of an untrusted folder are skipped silently.
    let settings = json!({"trustedFolders": [room.project()]});
    fs::write(folder.join("config.json"), format!("{settings:#}\n"))?;
    let stub = json!({"type": "local", "command": stub, "args": [], "tools": ["*"]});
    let servers = json!({"mcpServers": {"stub": stub}});
    fs::write(folder.join("mcp-config.json"), format!("{servers:#}\n"))
}

pub(super) fn arrange(command: &mut Command, url: &str) {
    command.args(["-p", "Do the scripted thing.", "--no-color"]);
    point(command, url);
}

pub(super) fn point(command: &mut Command, url: &str) {
    command
        .args(["--allow-all-tools", "--allow-all-paths"])
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
        .env("COPILOT_PROVIDER_API_KEY", "scripted")
        .env("COPILOT_MODEL", "gpt-5")
        // It unpacks itself into this cache on first use; all rooms share it.
        .env("XDG_CACHE_HOME", super::installed().join(".cache"));
}

pub(super) const WORDS: Words = Words {
    read: "view",
    path: "path",
    write: "create",
    content: "file_text",
    old: "old_str",
    new: "new_str",
    agent: ("agent_type", "general-purpose"),
    join: "-",
};
