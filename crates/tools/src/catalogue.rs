//! The tools by name: their descriptions for a model, and how their facts are determined.

mod codemie;
mod pipeline;

use std::sync::LazyLock;

use interlock_core::{call::ToolCall, names::CallId};
use interlock_facts::{CallContext, Disk, EditFields, Proposal, Shape, facts};
use interlock_shell::Dialect;
use interlock_tool_names::all_names;
use serde_json::Value;

use crate::{ArgumentError, Arguments, place::outside};

/// A built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// `Read`: numbered lines of a file.
    Read,
    /// `Grep`: lines that match an expression.
    Grep,
    /// `Glob`: files whose path matches a pattern.
    Glob,
    /// `LS`: the contents of a directory.
    Ls,
    /// `Edit`: replaces one text in a file.
    Edit,
    /// `MultiEdit`: replaces several texts in a file, all or none.
    MultiEdit,
    /// `Write`: writes an entire file.
    Write,
    /// `Bash`: a shell line.
    Bash,
    /// CodeMie's `read_file`.
    ReadFile,
    /// CodeMie's `write_file`.
    WriteFile,
    /// CodeMie's `list_files`.
    ListFiles,
    /// CodeMie's `search`.
    Search,
    /// CodeMie's `http_request`.
    HttpRequest,
    /// CodeMie's `bash`.
    ShellLine,
    /// CodeMie's `search_knowledge_base`.
    SearchKnowledgeBase,
    /// CodeMie's `get_document_by_id`.
    GetDocumentById,
}

/// The effect of a tool, for the rule after a crash and for concurrent calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// It reads files of this machine: it may run again, and concurrently with others of its kind.
    Reads,
    /// It may have written.
    Writes,
    /// It sends a request to a server, which may have acted on it.
    Asks,
}

/// Description of a tool for a model.
struct Definition {
    description: &'static str,
    schema: Value,
}

/// One definition per tool, in the order of [`Tool::ALL`].
static DEFINITIONS: LazyLock<Vec<Definition>> =
    LazyLock::new(|| Tool::ALL.into_iter().map(Tool::definition).collect());

impl Tool {
    /// The tools of pipelines and native stages, in the order of their descriptions.
    pub const PIPELINE: [Self; 8] = [
        Self::Read,
        Self::Grep,
        Self::Glob,
        Self::Ls,
        Self::Edit,
        Self::MultiEdit,
        Self::Write,
        Self::Bash,
    ];

    /// The tools of CodeMie's assistants and tool states.
    pub const CODEMIE: [Self; 8] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::ListFiles,
        Self::Search,
        Self::HttpRequest,
        Self::ShellLine,
        Self::SearchKnowledgeBase,
        Self::GetDocumentById,
    ];

    const ALL: [Self; 16] = [
        Self::Read,
        Self::Grep,
        Self::Glob,
        Self::Ls,
        Self::Edit,
        Self::MultiEdit,
        Self::Write,
        Self::Bash,
        Self::ReadFile,
        Self::WriteFile,
        Self::ListFiles,
        Self::Search,
        Self::HttpRequest,
        Self::ShellLine,
        Self::SearchKnowledgeBase,
        Self::GetDocumentById,
    ];

    /// Returns the tool of `set` with this name, which is case-sensitive.
    #[must_use]
    pub fn named(set: &[Self], name: &str) -> Option<Self> {
        set.iter().copied().find(|tool| tool.name() == name)
    }

    /// Returns its name for models.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Grep => "Grep",
            Self::Glob => "Glob",
            Self::Ls => "LS",
            Self::Edit => "Edit",
            Self::MultiEdit => "MultiEdit",
            Self::Write => "Write",
            Self::Bash => "Bash",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::ListFiles => "list_files",
            Self::Search => "search",
            Self::HttpRequest => "http_request",
            Self::ShellLine => "bash",
            Self::SearchKnowledgeBase => "search_knowledge_base",
            Self::GetDocumentById => "get_document_by_id",
        }
    }

    /// Returns its description for a model.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.told().map_or("", |told| told.description)
    }

    /// Returns the JSON Schema (2020-12, an object) of its arguments.
    #[must_use]
    pub fn schema(self) -> &'static Value {
        self.told().map_or(&Value::Null, |told| &told.schema)
    }

    fn told(self) -> Option<&'static Definition> {
        let index = Self::ALL.iter().position(|tool| *tool == self)?;
        DEFINITIONS.get(index)
    }

    fn definition(self) -> Definition {
        match self {
            Self::Read => pipeline::read(),
            Self::Grep => pipeline::grep(),
            Self::Glob => pipeline::glob(),
            Self::Ls => pipeline::ls(),
            Self::Edit => pipeline::edit(),
            Self::MultiEdit => pipeline::multi_edit(),
            Self::Write => pipeline::write(),
            Self::Bash => pipeline::bash(),
            Self::ReadFile => codemie::read_file(),
            Self::WriteFile => codemie::write_file(),
            Self::ListFiles => codemie::list_files(),
            Self::Search => codemie::search(),
            Self::HttpRequest => codemie::http_request(),
            Self::ShellLine => codemie::bash(),
            Self::SearchKnowledgeBase => codemie::search_knowledge_base(),
            Self::GetDocumentById => codemie::get_document_by_id(),
        }
    }

    /// Returns its effect.
    #[must_use]
    pub const fn deed(self) -> Deed {
        match self {
            Self::Read
            | Self::Grep
            | Self::Glob
            | Self::Ls
            | Self::ReadFile
            | Self::ListFiles
            | Self::Search
            | Self::SearchKnowledgeBase
            | Self::GetDocumentById => Deed::Reads,
            Self::Edit
            | Self::MultiEdit
            | Self::Write
            | Self::Bash
            | Self::WriteFile
            | Self::ShellLine => Deed::Writes,
            Self::HttpRequest => Deed::Asks,
        }
    }

    /// Returns how its arguments are parsed for its facts.
    #[must_use]
    pub const fn shape(self) -> Shape {
        match self {
            Self::Read => Shape::Read {
                paths: &["file_path"],
            },
            Self::Ls | Self::ReadFile => Shape::Read { paths: &["path"] },
            Self::Grep => Shape::Search {
                places: &["path"],
                files: &["glob"],
                contents: true,
            },
            Self::Search => Shape::Search {
                places: &["path"],
                files: &[],
                contents: true,
            },
            Self::Glob | Self::ListFiles => Shape::Search {
                places: &["path"],
                files: &["pattern"],
                contents: false,
            },
            Self::Edit => Shape::Edit {
                path: "file_path",
                fields: EditFields::SNAKE,
            },
            Self::MultiEdit => Shape::MultiEdit {
                path: "file_path",
                edits: "edits",
                fields: EditFields::SNAKE,
            },
            Self::Write => Shape::Write {
                path: "file_path",
                content: "content",
            },
            Self::WriteFile => Shape::Write {
                path: "path",
                content: "content",
            },
            Self::Bash => Shape::Shell {
                dialect: Dialect::Bash,
                line: "command",
                directory: None,
                environment: None,
            },
            Self::ShellLine => Shape::Shell {
                dialect: Dialect::Bash,
                line: "command",
                directory: Some("cwd"),
                environment: Some("env"),
            },
            Self::HttpRequest | Self::SearchKnowledgeBase | Self::GetDocumentById => Shape::Other,
        }
    }

    /// Returns the name of the same tool in most workflows, if it differs.
    #[must_use]
    pub fn common(self) -> Option<&'static str> {
        let common = match self {
            Self::ListFiles => "Glob",
            Self::Search => "Grep",
            _ => all_names(self.name()).first().copied()?,
        };
        (common != self.name()).then_some(common)
    }

    /// Determines the facts of a call, for the judge: the only way for every caller of built-in tools.
    #[must_use]
    pub fn proposed(
        self,
        id: CallId,
        arguments: &Arguments,
        call_context: &CallContext,
        disk: &dyn Disk,
    ) -> ToolCall {
        let proposal = Proposal {
            id,
            tool: self.name(),
            common: self.common(),
            shape: self.shape(),
            input: arguments.value(),
            // Such arguments cannot occur.
            doubled: None,
            agent: None,
            branch: None,
        };
        let mut call = facts(proposal, call_context, disk);
        call.facts.only_reads = self.deed() == Deed::Reads;
        if matches!(self, Self::Edit | Self::MultiEdit | Self::Write) {
            let mut written = call.facts.writes.iter();
            let outside = written.find_map(|write| outside(write.path.as_deref()?, call_context));
            call.facts.outside = outside;
        }
        call
    }

    /// Returns where the shell line of a call starts, with links resolved; its plan is for this place.
    #[must_use]
    pub fn line_starts_at(
        self,
        arguments: &Arguments,
        call_context: &CallContext,
        disk: &dyn Disk,
    ) -> String {
        let named = match self {
            Self::ShellLine => crate::line::starts_at(arguments.value(), call_context, disk).ok(),
            _ => None,
        };
        named.unwrap_or_else(|| call_context.site.cwd.clone())
    }

    /// Returns what does not match the schema; empty if everything does.
    #[must_use]
    pub fn faults(self, arguments: &Arguments) -> Vec<ArgumentError> {
        arguments.faults(self.schema())
    }
}
