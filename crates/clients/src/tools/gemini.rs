//! The tools of Gemini CLI.

use interlock_facts::Shape;

use super::rows::{
    BASH_IN, CONVERSATION, EDIT_COUNTED, ELSE, GLOB, GREP, OF_SERVERS, Row, WEB, WRITE, offered,
    other,
};

/// The tools, grouped by their abilities.
pub(super) const ROWS: &[Row] = &[
    offered("run_shell_command", BASH_IN),
    // Files.
    offered("replace", EDIT_COUNTED),
    offered("write_file", WRITE),
    offered(
        "read_file",
        Shape::Read {
            paths: &["file_path", "absolute_path"],
        },
    ),
    other(
        "read_many_files",
        Shape::Read {
            paths: &["paths", "include"],
        },
    ),
    offered(
        "list_directory",
        Shape::Read {
            paths: &["dir_path", "path"],
        },
    ),
    other("search_file_content", GREP),
    offered("grep_search", GREP),
    offered("glob", GLOB),
    // Writes the person's own instructions.
    other("save_memory", ELSE),
    // The web, and servers.
    offered("web_fetch", WEB),
    offered("google_web_search", WEB),
    other("list_mcp_resources", OF_SERVERS),
    other("read_mcp_resource", OF_SERVERS),
    // Sub-agents: their calls come to the hooks of this session.
    offered("invoke_agent", Shape::SubAgent),
    other("codebase_investigator", Shape::SubAgents),
    // Instructions from a file.
    offered("activate_skill", ELSE),
    // The conversation.
    offered("update_topic", CONVERSATION),
    offered("enter_plan_mode", CONVERSATION),
    other("exit_plan_mode", CONVERSATION),
    offered("list_background_processes", CONVERSATION),
    offered("read_background_output", CONVERSATION),
    other("ask_user", CONVERSATION),
    other("write_todos", CONVERSATION),
    other("complete_task", CONVERSATION),
    other("get_internal_docs", CONVERSATION),
    other("tracker_create_task", CONVERSATION),
    other("tracker_update_task", CONVERSATION),
    other("tracker_get_task", CONVERSATION),
    other("tracker_list_tasks", CONVERSATION),
    other("tracker_add_dependency", CONVERSATION),
    other("tracker_visualize", CONVERSATION),
];
