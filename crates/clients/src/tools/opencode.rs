//! The tools of opencode.

use interlock_facts::{EditFields, Shape};

use super::rows::{
    CONVERSATION, EDIT_CAMEL, ELSE, GLOB, GREP, Row, SHELL_IN, WEB, WRITE_CAMEL, offered, other,
};

/// The tools, grouped by their abilities.
pub(super) const ROWS: &[Row] = &[
    offered("bash", SHELL_IN),
    // Files.
    offered("edit", EDIT_CAMEL),
    offered("write", WRITE_CAMEL),
    other(
        "multiedit",
        Shape::MultiEdit {
            path: "filePath",
            edits: "edits",
            fields: EditFields::CAMEL,
        },
    ),
    other("patch", Shape::Patch { text: "patchText" }),
    other("apply_patch", Shape::Patch { text: "patchText" }),
    offered(
        "read",
        Shape::Read {
            paths: &["filePath"],
        },
    ),
    offered("grep", GREP),
    offered("glob", GLOB),
    other("list", Shape::Read { paths: &["path"] }),
    other("lsp", ELSE),
    // The web.
    offered("webfetch", WEB),
    other("websearch", WEB),
    other("codesearch", WEB),
    // Sub-agents: their calls come to the plugin of this session.
    offered("task", Shape::SubAgent),
    // Instructions from a file.
    offered("skill", ELSE),
    // The conversation.
    offered("todowrite", CONVERSATION),
    other("todoread", CONVERSATION),
    other("question", CONVERSATION),
    other("plan_enter", CONVERSATION),
    other("plan_exit", CONVERSATION),
    other("invalid", CONVERSATION),
];
