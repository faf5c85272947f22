//! What states do that call no model: tools with written arguments, transforms, lists of documents, records.
//!
//! A format puts one of these structs, as JSON, into the `input` of a [`Task`] ([`Node::task`] does).
//! Templates and expressions are not evaluated there: that is done over [`Inputs`] when the node is
//! computed, because only then the type of an argument is known. Context and conversation are those of
//! the frame, so the log does not repeat them.
//!
//! Pure: what calls a tool, a model or a folder is the runner.

use std::sync::Arc;

use interlock_expr::{
    expression::Expression,
    template::{Template, Values},
    text::ValueTemplate,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use interlock_core::{
    conversation::beside,
    dialogue::Conversation,
    machine::{Machine, NodeKind, Object, ServerWork, Task, TaskKind},
    names::FramePath,
    run::Run,
};

mod ask;
mod convert;
mod path;
pub mod records;
pub mod tool;
mod transform;

pub use ask::{Answers, Known};
pub use transform::transform;

/// The input of a node.
pub trait Node: Serialize {
    /// What it computes.
    const KIND: NodeKind;

    /// Makes the task of a state that computes it.
    ///
    /// # Errors
    /// The node holds a value that JSON has not, which no file brings about.
    fn task(&self) -> Result<Task, serde_json::Error> {
        Ok(Task {
            kind: TaskKind::Node(Self::KIND),
            input: ValueTemplate::Plain(serde_json::to_value(self)?),
        })
    }
}

impl Node for ToolWork {
    const KIND: NodeKind = NodeKind::ToolCall;
}

impl Node for TransformNode {
    const KIND: NodeKind = NodeKind::Transform;
}

impl Node for TreeNode {
    const KIND: NodeKind = NodeKind::DocumentsTree;
}

impl Node for RecordsNode {
    const KIND: NodeKind = NodeKind::StateRecords;
}

/// What a node is computed over: the frame as it was when the state was entered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// The context.
    pub context: Arc<Object>,
    /// The conversation, and what the state is given as its task.
    pub dialogue: Arc<Conversation>,
    /// The input of the run: an object, or text; null: none.
    pub input: Value,
    /// What templates have beside the context: `task` and `interlock`.
    pub beside: Object,
}

impl Inputs {
    /// Takes what the frame at `path` has; `None`: there is no such frame.
    #[must_use]
    pub fn of(machine: &Machine, run: &Run, path: &FramePath) -> Option<Self> {
        let frame = run.frame(path)?;
        let beside = beside(machine, run, path);
        let input = run.input();
        Some(Self {
            context: Arc::clone(&frame.line.context),
            dialogue: frame.line.dialogue.clone().unwrap_or_default(),
            input: input.map_or(Value::Null, |input| input.text.clone().into()),
            beside: beside.map(|beside| beside.values).unwrap_or_default(),
        })
    }

    /// Returns what names mean in a template.
    #[must_use]
    pub fn values(&self) -> Values<'_> {
        Values {
            context: &self.context,
            beside: &self.beside,
        }
    }
}

/// A tool that a state runs with written arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolWork {
    /// Name of the tool, as written: a built-in one, `server/tool`, or one that a single server has.
    pub tool: String,
    /// The tool's, with the state's laid over them key by key; `None`: neither wrote any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Object>,
    /// The context key whose object the arguments are resolved against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_key: Option<String>,
    /// The part of the result that is the output, a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Whether templates in the result are filled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fills_response: bool,
    /// Tokens of the output; what is beyond is cut, with a notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// The integration of the configuration that it alone gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration: Option<String>,
    /// The server that has the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerWork>,
    /// Whether a block without a value is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// A `transform_node`: an object is made of another, field by field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransformNode {
    /// Where the values come from.
    pub source: TransformSource,
    /// The part of the source that is taken: `a`, `a.b`, `a[0]`, `a[-1].b`, `a[0:2]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_key: Option<String>,
    /// The fields, in order.
    pub mappings: Vec<Mapping>,
    /// The JSON Schema that the output is converted to and held to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What follows an error.
    pub on_error: OnError,
    /// The output where `on_error` is [`OnError::Default`].
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub default_output: Object,
    /// Whether an input that is not there is an error, and a block without a value too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// Where the values of a transform come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransformSource {
    /// The context.
    #[default]
    ContextStore,
    /// The input of the run.
    UserInput,
    /// The last message of a person.
    Messages,
    /// The input of the run, the context over it.
    Combined,
    /// Everything: context keys, and `user_input`, `messages`, `task`, `context_store`.
    StateSchema,
}

/// What follows an error of a transform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The state fails.
    #[default]
    Fail,
    /// The output is `{}`.
    Skip,
    /// The output is [`TransformNode::default_output`].
    Default,
    /// The output has what worked.
    Partial,
}

/// How one field is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// The field.
    pub field: String,
    /// How it is converted.
    pub rule: FieldRule,
}

/// How a field is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldRule {
    /// What lies at a path.
    Extract {
        /// Names with dots, and indexes.
        path: String,
        /// Where nothing or null lies there.
        #[serde(default)]
        default: Value,
    },
    /// This value.
    Constant(Value),
    /// One of two values.
    Condition {
        /// What decides.
        condition: Expression,
        /// Where it holds.
        then: Value,
        /// Where it does not, or cannot be evaluated.
        #[serde(default)]
        otherwise: Value,
    },
    /// The value of an expression.
    Script(Expression),
    /// A text.
    Template(Template),
    /// A list made of the items of another.
    ArrayMap {
        /// Where the list is.
        path: String,
        /// The field taken of each item; `None`: the item. Without the field it drops out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_field: Option<String>,
        /// What must hold of `item`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filter: Option<Expression>,
    },
}

/// A `generate_documents_tree`: the documents of datasources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeNode {
    /// The datasources, in the order written.
    pub datasources: Vec<String>,
    /// Lines as in a gitignore file, or paths: what they name is listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// A regular expression, or else a glob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The key of the list.
    pub output_key: String,
    /// Whether texts are in the list.
    pub content: bool,
    /// Whether sizes and times are in the list.
    pub metadata: bool,
    /// How deep folders are followed; `None`: all the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_max: Option<u64>,
}

/// A `state_processor_node`: what ended states gave, put together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordsNode {
    /// What the ids of the states begin with.
    pub state: String,
    /// Another run whose records are taken; a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Template>,
    /// How a state must have ended, in small letters.
    pub statuses: Vec<String>,
    /// What a model is asked of each record; `None`: the record's own output is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Template>,
    /// The model; `None`: that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the model is told before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Template>,
    /// The output, a template over `items`; `None`: the items as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Template>,
    /// Whether a block without a value is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeOutput {
    /// The output.
    pub output: Value,
    /// What the log must tell, a sentence each.
    pub warnings: Vec<String>,
}

/// Why it has no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeError {
    /// A stable word, such as `transform_error`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

impl NodeError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl std::fmt::Display for NodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests;
