//! Runs Claude Code by [`crate::claude`].

use std::io;
use std::path::Path;

use serde_json::json;

use super::{Outcome, Session};
use crate::claude::{self, Version};
use crate::processes::Ended;
use crate::proposal::{Proposal, search_line};
use crate::provider::{Say, call};
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let stub = json!({"command": stub, "args": [], "alwaysLoad": true});
    let servers = json!({"mcpServers": {"stub": stub}});
    room.write(".mcp.json", &format!("{servers:#}\n")).map(drop)
}

pub(super) fn run(version: Version, session: &Session<'_>) -> io::Result<Outcome> {
    let mut claude = claude::Session::new(version, session.room, session.client_script())
        .deadline(session.deadline);
    for argument in &session.arguments {
        claude = claude.args([argument]);
    }
    for (name, value) in &session.environment {
        claude = claude.env(name, value);
    }
    let outcome = claude.run()?;
    let messages = outcome.messages.iter();
    let ended = Ended {
        stdout: messages.map(|message| format!("{message}\n")).collect(),
        stderr: outcome.stderr,
        exit: outcome.exit,
        elapsed: outcome.elapsed,
    };
    Ok(Outcome::new(&outcome.requests, ended))
}

pub(super) fn say(project: &Path, proposal: &Proposal) -> Say {
    let at = |path: &str| project.join(path);
    match proposal {
        Proposal::Read { path } => call("Read", json!({"file_path": at(path)})),
        Proposal::Write { path, content } => {
            call("Write", json!({"file_path": at(path), "content": content}))
        }
        Proposal::Edit { path, old, new } => call(
            "Edit",
            json!({"file_path": at(path), "old_string": old, "new_string": new}),
        ),
        Proposal::Search { word, folder } => bash(&search_line(word, folder)),
        Proposal::Shell { line } => bash(line),
        Proposal::Delegate { task } => call(
            "Agent",
            json!({"description": "a task", "prompt": task, "subagent_type": "general-purpose"}),
        ),
        Proposal::Tool {
            server,
            tool: name,
            arguments,
        } => call(format!("mcp__{server}__{name}"), arguments.clone()),
    }
}

fn bash(line: &str) -> Say {
    call("Bash", json!({"command": line, "description": "a line"}))
}
