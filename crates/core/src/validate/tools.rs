//! The tools of the clients that are known.

use crate::policy::wildcard_matches;

/// Names of shells, the common one first.
pub(super) const SHELLS: &[&str] = &[
    "Bash",
    "run_shell_command",
    "shell",
    "shell_command",
    "exec_command",
    "local_shell",
    "unified_exec",
    "bash",
    "Shell",
    "powershell",
    "PowerShell",
];

/// Tools that write files, each with all its names.
pub(super) const WRITERS: &[&[&str]] = &[
    &["Edit", "replace", "edit", "str_replace_editor"],
    &["Write", "write_file", "create", "write"],
    &["MultiEdit", "multiedit"],
    &["NotebookEdit"],
    &["apply_patch", "patch"],
];

/// Tools that reach the network, each with all its names.
pub(super) const NETWORK: &[&[&str]] = &[
    &["WebFetch", "web_fetch", "webfetch", "fetch"],
    &["WebSearch", "google_web_search", "web_search", "websearch"],
];

/// Names of every other tool.
const OTHERS: &[&str] = &[
    // Claude Code
    "Read",
    "Grep",
    "Glob",
    "LS",
    "Task",
    "Agent",
    "TodoWrite",
    "TodoRead",
    "NotebookRead",
    "BashOutput",
    "KillBash",
    "KillShell",
    "ExitPlanMode",
    "EnterPlanMode",
    "AskUserQuestion",
    "Skill",
    "SlashCommand",
    "ListMcpResources",
    "ReadMcpResource",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "LSP",
    "Monitor",
    "SendMessage",
    "TeamCreate",
    "TeamDelete",
    "EnterWorktree",
    "ExitWorktree",
    "CronCreate",
    "CronDelete",
    "CronList",
    "StructuredOutput",
    // Codex
    "update_plan",
    "view_image",
    "read_file",
    "list_dir",
    "grep_files",
    "write_stdin",
    "spawn_agent",
    "send_input",
    "wait",
    "close_agent",
    "request_user_input",
    // Gemini CLI
    "read_many_files",
    "list_directory",
    "search_file_content",
    "grep_search",
    "glob",
    "save_memory",
    "write_todos",
    "activate_skill",
    "ask_user",
    "enter_plan_mode",
    "exit_plan_mode",
    "codebase_investigator",
    // Copilot CLI
    "view",
    "grep",
    "report_intent",
    "read_bash",
    "write_bash",
    "stop_bash",
    "list_bash",
    "task",
    "update_todo",
    "show_file",
    "skill",
    // Cursor
    "Delete",
    "SemanticSearch",
    "ReadLints",
    // opencode
    "read",
    "list",
    "ls",
    "todowrite",
    "todoread",
    "question",
    "lsp",
    "batch",
    "codesearch",
    "lsp_diagnostics",
    "lsp_hover",
];

/// Returns every tool name that is known.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let groups = WRITERS.iter().chain(NETWORK).copied();
    groups.chain([SHELLS, OTHERS]).flatten().copied()
}

/// Tells whether a client may have a tool that `pattern` names.
///
/// Tools of MCP servers and the control tools are not looked up: which there
/// are is not known here.
pub(super) fn may_exist(pattern: &str) -> bool {
    let unknowable = ["mcp_", "MCP:", "interlock_", "statewright_", "*"];
    unknowable.iter().any(|prefix| pattern.starts_with(prefix))
        || known().any(|tool| wildcard_matches(pattern, tool))
}
