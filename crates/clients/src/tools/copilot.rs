//! The tools of Copilot CLI.

use interlock_facts::{EditFields, Shape};

use super::rows::{
    BASH_IN, CONVERSATION, ELSE, FOREIGN, GLOB, GREP, PATCH, Row, TYPED, TYPED_FOREIGN, WEB,
    offered, other,
};

/// The tools, grouped by their abilities.
pub(super) const ROWS: &[Row] = &[
    offered("bash", BASH_IN),
    other("write_bash", TYPED),
    other("powershell", FOREIGN),
    other("write_powershell", TYPED_FOREIGN),
    // Files.
    offered(
        "edit",
        Shape::Edit {
            path: "path",
            fields: EditFields {
                old: "old_str",
                new: "new_str",
                all: "replace_all",
            },
        },
    ),
    offered(
        "create",
        Shape::Write {
            path: "path",
            content: "file_text",
        },
    ),
    other("apply_patch", PATCH),
    offered("view", Shape::Read { paths: &["path"] }),
    offered("grep", GREP),
    offered("glob", GLOB),
    other("show_file", Shape::Read { paths: &["path"] }),
    // The web, and other sessions of the person, here and at the client's vendor.
    other("web_fetch", WEB),
    other("web_search", WEB),
    offered("session_store_sql", ELSE),
    other("store_memory", ELSE),
    // Sub-agents: their calls come to the hooks of this session.
    offered("task", Shape::SubAgent),
    offered("write_agent", Shape::SubAgents),
    // Instructions from a file.
    offered("skill", ELSE),
    // The conversation. The database of `sql` contains the lists of this session; it refuses to open any other file.
    offered("sql", CONVERSATION),
    offered("read_bash", CONVERSATION),
    offered("stop_bash", CONVERSATION),
    offered("list_bash", CONVERSATION),
    offered("read_agent", CONVERSATION),
    offered("list_agents", CONVERSATION),
    offered("fetch_copilot_cli_documentation", CONVERSATION),
    other("read_powershell", CONVERSATION),
    other("stop_powershell", CONVERSATION),
    other("list_powershell", CONVERSATION),
    other("ask_user", CONVERSATION),
    other("report_intent", CONVERSATION),
    other("update_todo", CONVERSATION),
    other("exit_plan_mode", CONVERSATION),
];
