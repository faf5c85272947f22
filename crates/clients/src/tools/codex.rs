//! The tools of Codex, by the names that its model and its hooks use.
//!
//! Its hooks join a namespace and a tool without a separator.

use interlock_facts::Shape;

use super::rows::{
    BASH, CONVERSATION, GREP, OF_SERVERS, PATCH, Row, SHELL_IN, TYPED, WEB, offered, other,
};

/// The tools, grouped by their abilities.
pub(super) const ROWS: &[Row] = &[
    // Shells.
    other("Bash", BASH),
    offered("exec_command", SHELL_IN),
    other("shell", SHELL_IN),
    other("shell_command", SHELL_IN),
    other("local_shell", SHELL_IN),
    other("unified_exec", SHELL_IN),
    other("container.exec", SHELL_IN),
    offered("write_stdin", TYPED),
    // Files.
    offered("apply_patch", PATCH),
    other(
        "read_file",
        Shape::Read {
            paths: &["file_path", "path"],
        },
    ),
    offered("view_image", Shape::Read { paths: &["path"] }),
    other(
        "list_dir",
        Shape::Read {
            paths: &["dir_path", "path"],
        },
    ),
    other("grep_files", GREP),
    // The web, and servers.
    offered("web_search", WEB),
    offered("list_mcp_resources", OF_SERVERS),
    offered("list_mcp_resource_templates", OF_SERVERS),
    offered("read_mcp_resource", OF_SERVERS),
    // Sub-agents: their calls come to the hooks of this session.
    other("spawn_agent", Shape::SubAgent),
    offered("collaborationspawn_agent", Shape::SubAgent),
    other("send_input", Shape::SubAgents),
    other("resume_agent", Shape::SubAgents),
    other("followup_task", Shape::SubAgents),
    offered("collaborationfollowup_task", Shape::SubAgents),
    other("send_message", Shape::SubAgents),
    offered("collaborationsend_message", Shape::SubAgents),
    // The conversation. Calls in the code of `exec` come to the hooks one by one.
    offered("exec", CONVERSATION),
    offered("wait", CONVERSATION),
    other("wait_agent", CONVERSATION),
    other("close_agent", CONVERSATION),
    other("list_agents", CONVERSATION),
    offered("collaborationwait_agent", CONVERSATION),
    offered("collaborationinterrupt_agent", CONVERSATION),
    offered("collaborationlist_agents", CONVERSATION),
    offered("request_user_input", CONVERSATION),
    offered("tool_search", CONVERSATION),
    offered("get_goal", CONVERSATION),
    offered("create_goal", CONVERSATION),
    offered("update_goal", CONVERSATION),
    other("update_plan", CONVERSATION),
];
