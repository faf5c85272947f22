//! The tools of Cursor, according to its documentation.

use interlock_facts::Shape;

use super::rows::{
    CONVERSATION, EDIT, ELSE, GLOB, GREP, PATCH, Row, SHELL_IN, WEB, WRITE, offered, other,
};

/// The tools, grouped by their abilities.
pub(super) const ROWS: &[Row] = &[
    offered("Shell", SHELL_IN),
    // Files.
    offered(
        "Read",
        Shape::Read {
            paths: &["file_path", "path"],
        },
    ),
    offered("Write", WRITE),
    other("Edit", EDIT),
    offered("StrReplace", EDIT),
    other("ApplyPatch", PATCH),
    offered(
        "EditNotebook",
        Shape::Notebook {
            path: "notebook_path",
        },
    ),
    offered("Delete", Shape::Delete { path: "file_path" }),
    offered("Grep", GREP),
    offered("Glob", GLOB),
    other("LS", Shape::Read { paths: &["path"] }),
    offered("SemanticSearch", ELSE),
    offered("ReadLints", ELSE),
    offered("WebFetch", WEB),
    offered("WebSearch", WEB),
    offered("Task", Shape::SubAgent),
    // The conversation.
    offered("TodoWrite", CONVERSATION),
    other("AskQuestion", CONVERSATION),
    other("SwitchMode", CONVERSATION),
    other("CreatePlan", CONVERSATION),
];
