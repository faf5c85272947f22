//! The tools that Gemini CLI offers its model.

use interlock_core::policy::Policy;
use interlock_tool_names::all_names;

use crate::tools::CONTROL_WORDS;

/// Built-in tools that every session of the main agent has.
///
/// The API rejects names of tools that are not offered, so this lists no others.
const MENU: [&str; 9] = [
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "replace",
    "run_shell_command",
    "web_fetch",
    "write_file",
];

/// Returns the names to offer if a policy lists tools.
///
/// Returns `None` if it lists all tools, or some that cannot be enumerated.
pub(crate) fn menu(policy: &Policy) -> Option<Vec<String>> {
    let listed = policy.allowed_tools.as_ref()?;
    let servers = listed.iter().filter(|name| is_of_server(name));
    let of_servers: Option<Vec<String>> = servers.map(|name| server_tool(name)).collect();
    let own = MENU.iter().filter(|name| {
        let common = all_names(name).first();
        let names: Vec<&str> = [*name].into_iter().chain(common).copied().collect();
        policy.lets_pass(&names)
    });
    let controls = CONTROL_WORDS
        .iter()
        .map(|word| format!("mcp_interlock_interlock_{word}"));
    let own = own.map(|name| (*name).to_owned());
    let mut names: Vec<String> = own.chain(controls).chain(of_servers?).collect();
    names.dedup();
    Some(names)
}

/// Returns whether a pattern may match a tool of an MCP server.
fn is_of_server(pattern: &str) -> bool {
    pattern.starts_with("mcp_") || pattern.starts_with('*')
}

/// Returns the name of a server's tool in the client's form; `None` if the pattern matches several.
fn server_tool(pattern: &str) -> Option<String> {
    if pattern.contains('*') {
        return None;
    }
    match pattern.strip_prefix("mcp__") {
        Some(rest) => rest
            .split_once("__")
            .map(|(server, tool)| format!("mcp_{server}_{tool}")),
        None => Some(pattern.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(allowed: &[&str], disallowed: &[&str]) -> Option<Vec<String>> {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let policy = Policy {
            allowed_tools: Some(texts(allowed)),
            disallowed_tools: texts(disallowed),
            ..Policy::default()
        };
        let names = menu(&policy)?;
        let own = |name: &String| !name.starts_with("mcp_interlock_");
        assert_eq!(
            names.iter().filter(|name| !own(name)).count(),
            CONTROL_WORDS.len()
        );
        Some(names.into_iter().filter(own).collect())
    }

    #[test]
    fn a_state_s_tools_are_offered_by_the_client_s_names() {
        let rows: [(&[&str], &[&str], &[&str]); 5] = [
            (&["Read", "Grep"], &[], &["grep_search", "read_file"]),
            (
                &["Edit", "write_file", "Bash"],
                &["Bash"],
                &["replace", "write_file"],
            ),
            (&[], &[], &[]),
            (&["read_*"], &[], &["read_file"]),
            (
                &["mcp__docs__find", "mcp_docs_get"],
                &[],
                &["mcp_docs_find", "mcp_docs_get"],
            ),
        ];
        for (allowed, disallowed, wanted) in rows {
            let wanted = wanted.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(names(allowed, disallowed), Some(wanted), "{allowed:?}");
        }
    }

    #[test]
    fn what_cannot_be_listed_is_left_open() {
        assert_eq!(names(&["Read", "mcp__docs__*"], &[]), None);
        assert_eq!(names(&["*"], &[]), None);
        assert_eq!(menu(&Policy::default()), None);
    }
}
