//! Which module carries out which tool.

use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolEnd,
    files::{edit, grep, list, read, write},
    http, knowledge, line,
};

pub(crate) fn carry(tool: Tool, input: &Value, around: &ToolContext<'_>) -> ToolEnd {
    let end = match tool {
        Tool::Read => read::numbered(input, around),
        Tool::Grep => grep::grep(input, around),
        Tool::Glob => list::glob(input, around),
        Tool::Ls => list::ls(input, around),
        Tool::Edit => edit::one(input, around),
        Tool::MultiEdit => edit::several(input, around),
        Tool::Write => write::whole(input, around),
        Tool::ReadFile => read::plain(input, around),
        Tool::WriteFile => write::told_as_object(input, around),
        Tool::ListFiles => list::as_object(input, around),
        Tool::Search => grep::as_object(input, around),
        Tool::Bash => line::bash(input, around),
        Tool::ShellLine => line::codemie(input, around),
        Tool::HttpRequest => http::request(input, around),
        Tool::SearchKnowledgeBase => knowledge::search(input, around),
        Tool::GetDocumentById => knowledge::document(input, around),
    };
    end.unwrap_or_else(ToolEnd::from)
}
