//! Which module carries out which tool.

use serde_json::Value;

use crate::{
    ArgumentError, Arguments, Code, Tool, ToolContext, ToolEnd,
    files::{edit, grep, list, read, write},
    http, knowledge, line,
};

impl Tool {
    /// Carries a call out that the judge has allowed.
    ///
    /// `around.facts` are the facts that were judged. Never panics; every failure is an end.
    #[must_use]
    pub fn run(self, arguments: &Arguments, around: &ToolContext<'_>) -> ToolEnd {
        let faults = self.faults(arguments);
        if !faults.is_empty() {
            return ToolEnd::failed(Code::InvalidArguments, ArgumentError::sentence(&faults));
        }
        if around.cancel.is_cancelled() {
            return ToolEnd::failed(Code::Cancelled, "the call was cancelled before it began");
        }
        carry(self, arguments.value(), around)
    }
}

fn carry(tool: Tool, input: &Value, around: &ToolContext<'_>) -> ToolEnd {
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
