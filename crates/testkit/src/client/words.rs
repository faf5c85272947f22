//! Translates proposals for clients that differ only in the names of tools and arguments.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::proposal::Proposal;
use crate::provider::{Say, call};

/// The names of a client's tools and of their arguments.
pub(super) struct Words {
    pub(super) read: &'static str,
    pub(super) write: &'static str,
    pub(super) path: &'static str,
    pub(super) content: &'static str,
    pub(super) old: &'static str,
    pub(super) new: &'static str,
    /// The argument for the type of a sub-agent, and an existing type.
    pub(super) agent: (&'static str, &'static str),
    /// The separator between the names of a server and a tool.
    pub(super) join: &'static str,
}

impl Words {
    /// Translates a proposal into a call; paths are below `project`.
    pub(super) fn say(&self, project: &Path, proposal: &Proposal) -> Say {
        let file = |tool: &str, path: &str, more: &[(&str, &str)]| {
            let mut arguments = Map::from_iter([(self.path.to_owned(), json!(project.join(path)))]);
            arguments.extend(
                more.iter()
                    .map(|(name, text)| ((*name).to_owned(), json!(text))),
            );
            call(tool, Value::Object(arguments))
        };
        match proposal {
            Proposal::Read { path } => file(self.read, path, &[]),
            Proposal::Search { word, folder } => call(
                "grep",
                json!({"pattern": word, "path": project.join(folder)}),
            ),
            Proposal::Write { path, content } => file(self.write, path, &[(self.content, content)]),
            Proposal::Edit { path, old, new } => {
                file("edit", path, &[(self.old, old), (self.new, new)])
            }
            Proposal::Shell { line } => {
                call("bash", json!({"command": line, "description": "a line"}))
            }
            Proposal::Delegate { task } => call(
                "task",
                json!({
                    "description": "a task", "prompt": task, "name": "other",
                    (self.agent.0): self.agent.1,
                }),
            ),
            Proposal::Tool {
                server,
                tool,
                arguments,
            } => call(format!("{server}{}{tool}", self.join), arguments.clone()),
        }
    }
}
