//! Claude Code, by way of [`crate::claude`].

use std::io;

use serde_json::json;

use super::{Outcome, Session};
use crate::anthropic::{self, Block, text, tool};
use crate::claude::{self, Version};
use crate::proposal::{Proposal, search_line};
use crate::room::Room;

pub(super) fn settle(room: &Room, stub: &str) -> io::Result<()> {
    let stub = json!({"command": stub, "args": [], "alwaysLoad": true});
    let servers = json!({"mcpServers": {"stub": stub}});
    room.write(".mcp.json", &format!("{servers:#}\n")).map(drop)
}

pub(super) fn run(version: Version, session: &Session<'_>) -> io::Result<Outcome> {
    let script = script(session);
    let mut claude = claude::Session::new(version, session.room, script).deadline(session.deadline);
    for argument in &session.arguments {
        claude = claude.args([argument]);
    }
    for (name, value) in &session.environment {
        claude = claude.env(name, value);
    }
    let outcome = claude.run()?;
    let results = outcome.calls().into_iter().map(|call| call.result);
    Ok(Outcome {
        results: results.collect(),
        requests: outcome
            .requests
            .iter()
            .map(|request| request.body().clone())
            .collect(),
        stdout: outcome
            .messages
            .iter()
            .map(|message| format!("{message}\n"))
            .collect(),
        stderr: outcome.stderr,
        exit: outcome.exit,
        elapsed: outcome.elapsed,
    })
}

/// The script in the words of Claude Code's model.
pub(super) fn script(session: &Session<'_>) -> anthropic::Script {
    let script = session.script.clone();
    let project = session.room.project();
    let only_offered = session.only_offered;
    anthropic::Script::new(move |request| {
        let proposal = script.turn(request.turn());
        let block = proposal.map_or_else(|| text("done"), |proposal| say(&project, &proposal));
        let refused = only_offered && !offers(request, &block);
        vec![if refused { not_offered(&block) } else { block }]
    })
}

fn say(project: &std::path::Path, proposal: &Proposal) -> Block {
    let at = |path: &str| project.join(path);
    match proposal {
        Proposal::Read { path } => tool("Read", json!({"file_path": at(path)})),
        Proposal::Write { path, content } => {
            tool("Write", json!({"file_path": at(path), "content": content}))
        }
        Proposal::Edit { path, old, new } => tool(
            "Edit",
            json!({"file_path": at(path), "old_string": old, "new_string": new}),
        ),
        Proposal::Search { word, folder } => bash(&search_line(word, folder)),
        Proposal::Shell { line } => bash(line),
        Proposal::Delegate { task } => tool(
            "Agent",
            json!({"description": "a task", "prompt": task, "subagent_type": "general-purpose"}),
        ),
        Proposal::Tool {
            server,
            tool: name,
            arguments,
        } => tool(format!("mcp__{server}__{name}"), arguments.clone()),
    }
}

fn bash(line: &str) -> Block {
    tool("Bash", json!({"command": line, "description": "a line"}))
}

/// Whether the request offers the tool that the block calls.
fn offers(request: &anthropic::Request, block: &Block) -> bool {
    match block {
        Block::ToolUse { name, .. } => request.tools().contains(&name.as_str()),
        Block::Text(_) => true,
    }
}

fn not_offered(block: &Block) -> Block {
    text(format!("this client offers no tool for {block:?}"))
}
