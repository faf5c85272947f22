//! The syntax of a FlowState file, with positions, before names are resolved.

use indexmap::IndexMap;
use interlock_core::machine::{OnCrash, Retry, TestOp};
use interlock_expr::text::{Expr, Piece, Text};
use interlock_shell::Spot;
use serde_json::Value;

use super::template::Template;
use crate::source::Span;

/// A name or another text without templates, and its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A text that may have templates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) template: Template,
    pub(super) span: Span,
    /// Position of each hole.
    pub(super) holes: Vec<Span>,
    /// Whether it could not be parsed, so that its value is unknown.
    pub(super) broken: bool,
}

impl Written {
    /// Returns the text to be filled.
    pub(super) fn text(&self) -> Text {
        self.template.text()
    }

    /// Returns the text if it has no holes and could be parsed.
    pub(super) fn literal(&self) -> Option<String> {
        let text = self.text();
        text.as_plain().filter(|_| !self.broken).map(str::to_owned)
    }

    /// Returns the position of each hole in the text as a bash command; `None` if the command cannot be followed.
    pub(super) fn spots(&self) -> Option<Vec<Spot>> {
        let parts = self.template.parts.iter();
        interlock_shell::spots(parts.map(|part| match &part.piece {
            Piece::Plain(text) => Some(text.as_str()),
            Piece::Hole(_) => None,
        }))
    }

    /// Returns each hole with its position.
    pub(super) fn holes(&self) -> impl Iterator<Item = (&Expr, Span)> {
        let spans = self.holes.iter().copied();
        self.template.holes().map(|(expr, _)| expr).zip(spans)
    }
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct Workflow {
    pub(super) span: Span,
    pub(super) name: Option<Named>,
    pub(super) start: Option<Named>,
    pub(super) states: Option<IndexMap<String, State>>,
    pub(super) variables: IndexMap<String, Variable>,
    pub(super) extends: Option<Named>,
    pub(super) description: Option<String>,
    pub(super) shell_safe: bool,
    pub(super) cwd: Option<String>,
    pub(super) tools: IndexMap<String, CustomTool>,
    pub(super) transitions_max: Option<u64>,
}

/// A variable and its initial value.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) value: String,
    pub(super) span: Span,
}

/// A state.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// Position of its name.
    pub(super) span: Span,
    pub(super) action: Action,
    pub(super) output: Option<Output>,
    pub(super) next: Option<Named>,
    pub(super) on_error: Vec<Handler>,
    pub(super) goto: Option<Goto>,
    pub(super) on_crash: Option<OnCrash>,
}

/// A tool and its arguments.
#[derive(Debug, Clone)]
pub(super) struct Action {
    pub(super) tool: Named,
    pub(super) doing: Doing,
    pub(super) retry: Option<Retry>,
}

/// The effect of an action.
#[derive(Debug, Clone)]
pub(super) enum Doing {
    /// A runner executes it.
    Work(Vec<(&'static str, ToolArgument)>),
    /// The engine tests a value.
    Test {
        op: TestOp,
        left: Written,
        right: Option<Written>,
    },
    /// Another file runs.
    SubFlow(SubFlow),
    /// Tasks run concurrently.
    Parallel(Parallel),
    /// States run for each line.
    ForEach(ForEach),
    /// A tool that the file defines, with its arguments as written.
    Custom(Custom),
    /// It could not be parsed.
    Broken,
}

/// An argument of a tool that a runner executes.
#[derive(Debug, Clone)]
pub(super) enum ToolArgument {
    Text(Written),
    Texts(Vec<Written>),
    Map(IndexMap<String, Written>),
    Options(Vec<Choice>),
    Condition(Condition),
    /// A boolean that is known at load time.
    Flag(bool),
    /// A text without templates.
    Name(Named),
}

/// An answer that a person may choose.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) value: Written,
    pub(super) description: Option<Written>,
}

/// A condition that must hold before a pause ends.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) command: Written,
    pub(super) timeout: Option<Written>,
}

/// A call of another file.
#[derive(Debug, Clone)]
pub(super) struct SubFlow {
    pub(super) workflow: Option<Named>,
    pub(super) passed: IndexMap<String, Written>,
    pub(super) alias: Option<Named>,
}

/// Concurrent tasks.
#[derive(Debug, Clone)]
pub(super) struct Parallel {
    pub(super) tasks: Vec<Task>,
    pub(super) at_once: Option<usize>,
    pub(super) fail_fast: bool,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) action: Action,
    pub(super) output: Option<Output>,
}

/// States that run for each line of an output.
#[derive(Debug, Clone)]
pub(super) struct ForEach {
    pub(super) items: Box<Action>,
    pub(super) start: Option<Named>,
    pub(super) states: IndexMap<String, State>,
    pub(super) goes_on: bool,
    pub(super) wants_items: bool,
}

/// A call of a tool that the file defines.
#[derive(Debug, Clone)]
pub(super) struct Custom {
    pub(super) span: Span,
    pub(super) arguments: Vec<(Named, Tree)>,
    pub(super) env: IndexMap<String, Written>,
}

/// A value with texts in it.
#[derive(Debug, Clone)]
pub(super) enum Tree {
    Text(Written),
    Null(Span),
    List(Span, Vec<Tree>),
    Map(Span, Vec<(Named, Tree)>),
}

impl Tree {
    pub(super) const fn span(&self) -> Span {
        match self {
            Self::Text(written) => written.span,
            Self::Null(span) | Self::List(span, _) | Self::Map(span, _) => *span,
        }
    }
}

/// Destination of an output.
#[derive(Debug, Clone)]
pub(super) enum Output {
    Variable(Named),
    File(Written),
}

impl Output {
    pub(super) const fn span(&self) -> Span {
        match self {
            Self::Variable(name) => name.span,
            Self::File(path) => path.span,
        }
    }
}

/// One entry of `on-error`.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    /// `None` for every other code.
    pub(super) code: Option<i64>,
    pub(super) span: Span,
    pub(super) target: Named,
}

/// The branches of a state.
#[derive(Debug, Clone)]
pub(super) struct Goto {
    pub(super) span: Span,
    pub(super) cases: Vec<(Named, Named)>,
    pub(super) rest: Option<Named>,
}

/// A tool that a file defines.
#[derive(Debug, Clone)]
pub(super) struct CustomTool {
    pub(super) command: Vec<Written>,
    pub(super) schema: Value,
    pub(super) timeout: Option<Written>,
    pub(super) cwd: Option<Written>,
    pub(super) env: IndexMap<String, Written>,
    pub(super) stdin: Option<Written>,
}
