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
