//! Dispatches calls to the modules of the tools.

use serde_json::Value;

use crate::{
    ArgumentError, Arguments, Code, Tool, ToolContext, ToolEnd,
    files::{edit, grep, list, read, write},
    http, knowledge, line,
};

impl Tool {
    /// Executes a call that the judge has allowed.
    ///
    /// `around.facts` are the facts that were judged. This never panics; every failure is an end.
    #[must_use]
    pub fn run(self, arguments: &Arguments, context: &ToolContext<'_>) -> ToolEnd {
        let faults = self.faults(arguments);
        if !faults.is_empty() {
            return ToolEnd::failed(Code::InvalidArguments, ArgumentError::sentence(&faults));
        }
        if context.cancel.is_cancelled() {
            return ToolEnd::failed(Code::Cancelled, "the call was cancelled before it began");
        }
        carry(self, arguments.value(), context)
    }
}

fn carry(tool: Tool, input: &Value, context: &ToolContext<'_>) -> ToolEnd {
    let end = match tool {
        Tool::Read => read::numbered(input, context),
        Tool::Grep => grep::grep(input, context),
        Tool::Glob => list::glob(input, context),
        Tool::Ls => list::ls(input, context),
        Tool::Edit => edit::one(input, context),
        Tool::MultiEdit => edit::several(input, context),
        Tool::Write => write::whole(input, context),
        Tool::ReadFile => read::plain(input, context),
        Tool::WriteFile => write::told_as_object(input, context),
        Tool::ListFiles => list::as_object(input, context),
        Tool::Search => grep::as_object(input, context),
        Tool::Bash => line::bash(input, context),
        Tool::ShellLine => line::codemie(input, context),
        Tool::HttpRequest => http::request(input, context),
        Tool::SearchKnowledgeBase => knowledge::search(input, context),
        Tool::GetDocumentById => knowledge::document(input, context),
    };
    end.unwrap_or_else(ToolEnd::from)
}
