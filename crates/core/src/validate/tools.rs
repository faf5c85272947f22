//! The tools of the clients that are known.

use crate::{policy::wildcard_matches, tools::NAMES};

/// Names of every other tool.
const OTHERS: &[&str] = &[
    // Claude Code
    "TodoRead",
    "NotebookRead",
    "BashOutput",
    "KillBash",
    "KillShell",
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
    "ReadMcpResourceDirTool",
    "Workflow",
    "ScheduleWakeup",
    "ListAgents",
    "ReportFindings",
    "DeferredToolPlaceholder",
    "GetTask",
    "Yield",
    "SendUserMessage",
    "SendUserFile",
    "PushNotification",
    "GetGoal",
    "SetGoal",
    "PauseGoal",
    "SubagentHandback",
    "WrapUp",
    "EndConversation",
    "WaitForMcpServers",
    "REPL",
    "RemoteTrigger",
    "SendToProject",
    // Codex
    "view_image",
    "send_input",
    "wait",
    "exec",
    "followup_task",
    "send_message",
    "collaborationfollowup_task",
    "collaborationsend_message",
    "collaborationwait_agent",
    "collaborationinterrupt_agent",
    "collaborationlist_agents",
    "list_mcp_resource_templates",
    "wait_agent",
    "resume_agent",
    "close_agent",
    "list_mcp_resources",
    "read_mcp_resource",
    "get_goal",
    "create_goal",
    "update_goal",
    // Gemini CLI
    "read_many_files",
    "save_memory",
    "activate_skill",
    "codebase_investigator",
    "complete_task",
    "update_topic",
    "list_background_processes",
    "read_background_output",
    "get_internal_docs",
    "tracker_create_task",
    "tracker_update_task",
    "tracker_get_task",
    "tracker_list_tasks",
    "tracker_add_dependency",
    "tracker_visualize",
    // Copilot CLI
    "report_intent",
    "read_bash",
    "stop_bash",
    "list_bash",
    "show_file",
    "read_agent",
    "list_agents",
    "write_agent",
    "sql",
    "store_memory",
    "read_powershell",
    "stop_powershell",
    "list_powershell",
    "write_powershell",
    "session_store_sql",
    "fetch_copilot_cli_documentation",
    "skill",
    // Cursor
    "Delete",
    "SemanticSearch",
    "ReadLints",
    "SwitchMode",
    "CreatePlan",
    // opencode
    "todoread",
    "lsp",
    "batch",
    "codesearch",
    "invalid",
    "lsp_diagnostics",
    "lsp_hover",
    // What a client asks the gateway for beside tools.
    "resources/read",
    "prompts/get",
    // Shells whose lines are not read.
    "PowerShell",
    "powershell",
];

/// Tells whether a known client has a tool of exactly this name.
pub(crate) fn is_known(name: &str) -> bool {
    known().any(|tool| tool == name)
}

/// Returns every tool name that is known.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().flatten().chain(OTHERS).copied()
}

/// Tells whether a client may have a tool that `pattern` names.
///
/// Tools of MCP servers and the control tools are not looked up: which there
/// are is not known here.
pub(super) fn may_exist(pattern: &str) -> bool {
    let unknowable = ["mcp_", "MCP:", "interlock_", "statewright_", "*"];
    // `SERVER__TOOL` is a tool of a server behind the gateway.
    pattern.contains("__")
        || unknowable.iter().any(|prefix| pattern.starts_with(prefix))
        || known().any(|tool| wildcard_matches(pattern, tool))
}
