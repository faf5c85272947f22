//! The names that known clients give to the same tool.
//!
//! A rule written with one name of a tool means it under every other.

/// Tools by all their names, the common one first.
pub const NAMES: [&[&str]; 13] = [
    &[
        "Bash",
        "run_shell_command",
        "shell",
        "shell_command",
        "exec_command",
        "local_shell",
        "unified_exec",
        "container.exec",
        "write_stdin",
        "bash",
        "write_bash",
        "Shell",
    ],
    &[
        "Edit",
        "replace",
        "edit",
        "str_replace_editor",
        "StrReplace",
    ],
    &["Write", "write_file", "create", "write"],
    &["MultiEdit", "multiedit"],
    &["NotebookEdit", "EditNotebook"],
    &["apply_patch", "patch", "ApplyPatch"],
    &["Read", "read_file", "view", "read"],
    &[
        "Grep",
        "search_file_content",
        "grep_search",
        "grep_files",
        "grep",
    ],
    &["Glob", "glob"],
    &["LS", "list_directory", "list_dir", "list", "ls"],
    &["WebFetch", "web_fetch", "webfetch", "fetch"],
    &["WebSearch", "google_web_search", "web_search", "websearch"],
    &["Task", "Agent", "task", "spawn_agent", "invoke_agent"],
];

/// Returns every name of the tool that is called `name` somewhere; empty when it is not known.
#[must_use]
pub fn all_names(name: &str) -> &'static [&'static str] {
    NAMES
        .iter()
        .find(|names| names.contains(&name))
        .copied()
        .unwrap_or_default()
}

/// Returns the names by which rules may mean the tool `tool` of `server` behind the gateway.
///
/// The plain name, `SERVER__TOOL` and `mcp__SERVER__TOOL`; the one that is wrapped
/// alone has no name of its own and goes by the gateway's. A plain name that looks
/// like a client's own tool (`Read`, `Bash`) is left out: only the qualified ones mean it.
#[must_use]
pub fn served_names(server: &str, tool: &str) -> Vec<String> {
    let server = if server.is_empty() {
        "interlock"
    } else {
        server
    };
    let mut names = vec![
        format!("mcp__{server}__{tool}"),
        format!("{server}__{tool}"),
    ];
    // Clients begin the names of their own tools with a capital; `mcp__` is for servers' names.
    let own = tool.starts_with(|c: char| c.is_ascii_uppercase())
        && crate::validate::tools::is_known(tool);
    if !own && !tool.starts_with("mcp__") && !tool.contains("__") {
        names.push(tool.to_owned());
    }
    names
}
