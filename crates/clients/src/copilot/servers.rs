//! The MCP server that a tool of Copilot CLI belongs to.
//!
//! Copilot joins server and tool with a hyphen, which both may contain. So the names of servers are read from the client's
//! configuration.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::tools::knows;

/// Maximum size of a file that is read, in bytes.
const BYTES_MAX: u64 = 1_048_576;

/// Returns the common name of an MCP server's tool: `mcp__SERVER__TOOL`.
pub(super) fn common(name: &str, directory: &Path) -> Option<String> {
    if !name.contains('-') || knows(crate::client::ClientId::Copilot, name) {
        return None;
    }
    let home = env::var_os("COPILOT_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".copilot")));
    let root = interlock_project::project_root(directory);
    let files = home
        .map(|home| home.join("mcp-config.json"))
        .into_iter()
        .chain(
            [
                ".mcp.json",
                ".github/mcp.json",
                ".vscode/mcp.json",
                ".copilot/mcp-config.json",
            ]
            .map(|file| root.join(file)),
        );
    let servers: Vec<String> = files.flat_map(|file| servers(&file)).collect();
    named(name, servers.iter().map(String::as_str))
}

fn named<'s>(name: &str, servers: impl Iterator<Item = &'s str>) -> Option<String> {
    let split = servers
        .filter_map(|server| {
            let tool = name.strip_prefix(server)?.strip_prefix('-')?;
            (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
        })
        .max_by_key(|(server, _)| server.len());
    split.map(|(server, tool)| format!("mcp__{server}__{tool}"))
}

fn servers(path: &Path) -> Vec<String> {
    let fits = fs::metadata(path).is_ok_and(|found| found.len() <= BYTES_MAX);
    let text = fits.then(|| fs::read(path).ok()).flatten();
    let file = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let names = |file: &Value| {
        let listed = file.get("mcpServers").or_else(|| file.get("servers"))?;
        Some(listed.as_object()?.keys().cloned().collect())
    };
    file.as_ref().and_then(names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_server_that_fits_has_the_tool() {
        let servers = || ["my", "my-server", "other"].into_iter();
        let rows = [
            ("my-server-x", Some("mcp__my-server__x")),
            ("my-thing", Some("mcp__my__thing")),
            ("third-x", None),
            ("my-", None),
        ];
        for (name, common) in rows {
            assert_eq!(named(name, servers()).as_deref(), common, "{name}");
        }
    }
}
