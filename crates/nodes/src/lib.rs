//! Nodes that work without a stage: tool calls with written arguments, transforms, document lists, records.
//!
//! A format puts one of these structs, as JSON, into the `input` of a [`Task`] (see [`Node::task`]). Templates and
//! expressions are not evaluated there, but over [`Inputs`] when the node is computed, because only then is the type of
//! an argument known. Context and conversation are those of the frame, so the log does not repeat them.
//!
//! This crate is pure: the runner calls tools and models and reads folders.

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
    /// The kind of node that the input belongs to.
    const KIND: NodeKind;

    /// Returns the task of a state that computes this node.
    ///
    /// # Errors
    /// The node contains a value that JSON cannot represent, which no file can cause.
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

/// The inputs of a node: the frame's data when the state was entered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// The context.
    pub context: Arc<Object>,
    /// The conversation, with the task of the state.
    pub dialogue: Arc<Conversation>,
    /// The input of the run, an object or text; null if there is none.
    pub input: Value,
    /// The values that templates can use besides the context: `task` and `interlock`.
    pub beside: Object,
}

impl Inputs {
    /// Returns the inputs from the frame at `path`; `None` if there is no such frame.
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

    /// Returns the values of names in a template.
    #[must_use]
    pub fn values(&self) -> Values<'_> {
        Values {
            context: &self.context,
            beside: &self.beside,
        }
    }
}

/// A tool call with written arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolWork {
    /// Name of the tool, as written: a built-in tool, `server/tool`, or a tool that only one server has.
    pub tool: String,
    /// The tool's arguments, overridden key by key by the state's; `None` if neither are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Object>,
    /// The context key of the object against which the arguments are resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_key: Option<String>,
    /// The part of the result that is the output, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Whether templates in the result are filled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fills_response: bool,
    /// Limit of the output in tokens; the rest is cut, with a notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// The integration of the configuration that only this call gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration: Option<String>,
    /// The server that has the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerWork>,
    /// Whether a block without a value is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// A `transform_node`: makes an object from another, field by field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransformNode {
    /// The source of the values.
    pub source: TransformSource,
    /// The part of the source to use: `a`, `a.b`, `a[0]`, `a[-1].b`, `a[0:2]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_key: Option<String>,
    /// The fields, in order.
    pub mappings: Vec<Mapping>,
    /// The JSON Schema that the output is converted to and validated against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What to do after an error.
    pub on_error: OnError,
    /// The output where `on_error` is [`OnError::Default`].
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub default_output: Object,
    /// Whether a missing input is an error, and a block without a value too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// The source of a transform's values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransformSource {
    /// The context.
    #[default]
    ContextStore,
    /// The input of the run.
    UserInput,
    /// The last message from a person.
    Messages,
    /// The input of the run, overridden by the context.
    Combined,
    /// All values: the context keys, and `user_input`, `messages`, `task`, `context_store`.
    StateSchema,
}

/// What to do after an error of a transform.
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
    /// The output contains the fields that succeeded.
    Partial,
}

/// A field of the output and its rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// The name of the field.
    pub field: String,
    /// The rule that gives its value.
    pub rule: FieldRule,
}

/// A rule that gives the value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldRule {
    /// The value at a path.
    Extract {
        /// Names separated by dots, and indexes.
        path: String,
        /// The value if there is none at the path, or null.
        #[serde(default)]
        default: Value,
    },
    /// A constant.
    Constant(Value),
    /// One of two values, by a condition.
    Condition {
        /// The condition.
        condition: Expression,
        /// The value if it holds.
        then: Value,
        /// The value if it does not hold or cannot be evaluated.
        #[serde(default)]
        otherwise: Value,
    },
    /// The value of an expression.
    Script(Expression),
    /// A text from a template.
    Template(Template),
    /// A list made from the items of another list.
    ArrayMap {
        /// The path of the list.
        path: String,
        /// The field to take from each item; `None` takes the item. Items without the field are dropped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_field: Option<String>,
        /// The condition that `item` must meet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filter: Option<Expression>,
    },
}

/// A `generate_documents_tree`: lists the documents of datasources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeNode {
    /// The datasources, in the order written.
    pub datasources: Vec<String>,
    /// Lines as in a gitignore file, or paths; documents that they match are listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// A regular expression, or a glob if it is not a valid one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The key of the list.
    pub output_key: String,
    /// Whether the list includes texts.
    pub content: bool,
    /// Whether the list includes sizes and times.
    pub metadata: bool,
    /// How many levels of folders are listed; `None` lists all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_max: Option<u64>,
}

/// A `state_processor_node`: combines the outputs of ended states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordsNode {
    /// The prefix of the ids of the states.
    pub state: String,
    /// Another run whose records are used, as a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Template>,
    /// The statuses to include, in lower case.
    pub statuses: Vec<String>,
    /// The task of a model for each record; `None` takes the record's own output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Template>,
    /// The model; `None` uses that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Template>,
    /// The output, a template over `items`; `None` gives the items as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Template>,
    /// Whether a block without a value is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// The output of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeOutput {
    /// The output itself.
    pub output: Value,
    /// Warnings for the log, one sentence each.
    pub warnings: Vec<String>,
}

/// The error of a node that has no output.
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
