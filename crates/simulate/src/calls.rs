//! From a line's tool call to the call the engine judges.
//!
//! A stand-in for `interlock_facts` until that has signatures: reads no shell
//! line, follows no link.

use interlock_core::{
    call::{CallFacts, CallKind, FileWrite, Place, ToolCall, WrittenPath},
    facts::ShellFacts,
    names::{CallId, Digest},
};
use serde_json::Value;

use crate::{input::ToolLine, simulation::Setting};

/// Makes the call of a line, with its facts.
pub(crate) fn call(setting: &Setting, line: &ToolLine, id: String) -> ToolCall {
    let text = |key: &str| line.input.get(key).and_then(Value::as_str);
    let kind = match line.tool.as_str() {
        "Bash" => CallKind::Shell,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => CallKind::Edit,
        "Task" | "Agent" => CallKind::SubAgent,
        _ => CallKind::Other,
    };
    let path = text("file_path").or_else(|| text("notebook_path"));
    let mut facts = CallFacts {
        environment_held: true,
        ..CallFacts::default()
    };
    match (kind, path) {
        (CallKind::Edit, Some(path)) => {
            let lines = |key: &str| {
                u64::try_from(text(key).unwrap_or_default().lines().count()).unwrap_or(u64::MAX)
            };
            let new = lines("new_string").max(lines("content"));
            let lines = lines("old_string").max(new);
            let written = locate(setting, path);
            facts.edit_lines = Some(lines);
            facts.writes.push(FileWrite {
                path: Some(written.path),
                relative: written.relative,
                place: Place::Project,
                by: line.tool.clone(),
                removes: false,
                recursive: false,
                lines: Some(lines),
            });
        }
        (CallKind::Shell, _) => {
            facts.shell = Some(ShellFacts {
                unreadable: Some("shell lines are not read yet".to_owned()),
                ..ShellFacts::default()
            });
        }
        (_, Some(path)) => facts.reads.extend(locate(setting, path).relative),
        _ => {}
    }
    let summary = line.input.to_string();
    ToolCall {
        id: CallId::new(id),
        tool: line.tool.clone(),
        common: None,
        kind,
        digest: Digest::new(format!("{} {summary}", line.tool)),
        summary,
        agent: None,
        branch: line.branch.clone(),
        facts,
    }
}

/// Finds a path in the project.
pub(crate) fn locate(setting: &Setting, path: &str) -> WrittenPath {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", setting.project_root)
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    let path = format!("/{}", parts.join("/"));
    let relative = path
        .strip_prefix(&format!("{}/", setting.project_root.trim_end_matches('/')))
        .map(str::to_owned);
    WrittenPath { path, relative }
}

/// Refuses a client whose tool names are not known.
pub(crate) fn known_client(client: &str) -> Result<(), String> {
    const CLIENTS: [&str; 6] = [
        "claude-code",
        "codex",
        "gemini",
        "copilot",
        "cursor",
        "opencode",
    ];
    if CLIENTS.contains(&client) {
        return Ok(());
    }
    Err(format!(
        "unknown client `{client}`; known: {}",
        CLIENTS.join(", ")
    ))
}
