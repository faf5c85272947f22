//! The syntax of a CodeMie file, with positions, before names are resolved.

use interlock_core::policy::Policy;
use interlock_expr::expression::Expression;
use serde_json::{Map, Value};

use crate::source::Span;

/// A text and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct Workflow {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) states: Vec<State>,
    /// Lists with an item that could not be parsed, so that its name is not an error.
    pub(super) incomplete: Vec<&'static str>,
    pub(super) assistants: Vec<Assistant>,
    pub(super) tools: Vec<Tool>,
    pub(super) nodes: Vec<CustomNode>,
    pub(super) limits: Limits,
    pub(super) retry: Retry,
}

/// The numbers of the top level.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) recursion: u64,
    pub(super) at_once: u64,
    pub(super) messages: u64,
    pub(super) tokens: u64,
    /// `None`: the history is condensed, and there is no summary at the end.
    pub(super) summary: Option<bool>,
    pub(super) schema_retries: u64,
}

/// Retry policy; missing values are inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Retry {
    pub(super) initial_interval: Option<String>,
    pub(super) max_interval: Option<String>,
    pub(super) backoff_factor: Option<String>,
    pub(super) max_attempts: Option<u64>,
    pub(super) jitter: Option<bool>,
}

/// An assistant.
#[derive(Debug, Clone)]
pub(super) struct Assistant {
    pub(super) id: Named,
    /// Base assistant in the configuration.
    pub(super) base: Option<Named>,
    pub(super) system_prompt: Option<Named>,
    pub(super) model: Option<Named>,
    pub(super) temperature: Option<String>,
    pub(super) tools: Vec<ToolName>,
    pub(super) servers: Vec<Server>,
    pub(super) datasources: Vec<Named>,
    pub(super) skills: Vec<Named>,
    /// Texts of the skills in the configuration, in the same order.
    pub(super) skill_texts: Vec<String>,
    pub(super) output_tokens: u64,
    pub(super) no_extra_tools: bool,
    pub(super) turns: u64,
}

/// A tool that an assistant may call.
#[derive(Debug, Clone)]
pub(super) struct ToolName {
    pub(super) name: Named,
    pub(super) alias: Option<Named>,
}

/// A tool that states call.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) id: Named,
    pub(super) tool: Named,
    pub(super) arguments: Option<Arguments>,
    pub(super) input_key: Option<String>,
    pub(super) pointer: Option<Named>,
    pub(super) fills_response: bool,
    pub(super) alias: Option<Named>,
    pub(super) tokens: Option<u64>,
    pub(super) server: Option<Server>,
}

/// Arguments of a tool: values, and every text in them with its position.
#[derive(Debug, Clone)]
pub(super) struct Arguments {
    pub(super) values: Map<String, Value>,
    pub(super) texts: Vec<Named>,
}

/// An MCP server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) name: Named,
    pub(super) enabled: bool,
    pub(super) start: Option<Start>,
    pub(super) single_usage: bool,
    pub(super) tools: Option<Vec<Named>>,
    pub(super) tokens: Option<u64>,
    pub(super) alias: Option<Named>,
}

/// How an MCP server is started or accessed.
#[derive(Debug, Clone)]
pub(super) enum Start {
    Program {
        command: Named,
        arguments: Vec<Named>,
        env: Vec<(String, Named)>,
    },
    Address {
        url: Named,
        headers: Vec<(String, Named)>,
        token: Option<Named>,
        streams: bool,
    },
    Configured(Named),
}

/// A custom node.
#[derive(Debug, Clone)]
pub(super) struct CustomNode {
    pub(super) id: Named,
    pub(super) kind: Named,
    pub(super) model: Option<Named>,
    pub(super) system_prompt: Option<Named>,
    /// Datasources whose documents it lists.
    pub(super) datasources: Vec<Named>,
    pub(super) config: Option<Value>,
}

/// A state.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) id: Named,
    pub(super) span: Span,
    /// `None` if none of the three keys, or more than one, was written.
    pub(super) does: Option<Does>,
    pub(super) task: Option<Named>,
    pub(super) next: Option<Next>,
    pub(super) fills_prompt: bool,
    pub(super) schema: Option<Schema>,
    pub(super) asks_before: bool,
    pub(super) arguments: Option<Arguments>,
    pub(super) finish_iteration: bool,
    pub(super) as_person: bool,
    pub(super) retry: Retry,
    pub(super) on_error: Option<Named>,
    pub(super) timeout: Option<String>,
    pub(super) policy: Option<Policy>,
}

/// The activity of a state.
#[derive(Debug, Clone)]
pub(super) enum Does {
    Assistant(Named),
    Tool(Named),
    Node(Named),
}

/// Schema of a state's output.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) shape: Shape,
}

/// The value of an `output_schema`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// A JSON Schema.
    Enforced(Value),
    /// An example or prose, shown to the model.
    Hint(String),
    /// A text with templates, which is parsed after they are filled.
    Later(String),
}

/// What follows a state.
#[derive(Debug, Clone)]
pub(super) struct Next {
    pub(super) way: Way,
    pub(super) flags: Flags,
}

/// Targets of a state.
#[derive(Debug, Clone)]
pub(super) enum Way {
    One(Named),
    All(Vec<Named>),
    Condition {
        expression: Condition,
        then: Named,
        otherwise: Named,
    },
    Switch {
        cases: Vec<(Condition, Named)>,
        default: Named,
    },
    Items {
        target: Named,
        key: Named,
    },
    /// It could not be parsed.
    Broken,
}

/// A condition as text, and parsed.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) text: Named,
    /// `None` if it could not be parsed, which is reported.
    pub(super) read: Option<Expression>,
}

/// How an output, and an iteration, is handled.
#[derive(Debug, Clone)]
pub(super) struct Flags {
    pub(super) store: bool,
    pub(super) output_key: Option<Named>,
    pub(super) clear: Clear,
    pub(super) reset: Vec<String>,
    pub(super) append: bool,
    pub(super) in_history: bool,
    pub(super) clear_messages: bool,
    pub(super) item_keys: Option<Vec<String>>,
    pub(super) override_task: bool,
    pub(super) on_item_error: OnItemError,
    pub(super) per_item: bool,
}

/// What is cleared of the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Clear {
    #[default]
    Nothing,
    Everything,
    KeepCurrent,
}

/// What happens when an item fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OnItemError {
    #[default]
    Fail,
    Skip,
    Collect,
}

impl Way {
    /// Returns every state that is named, in the order of the file.
    pub(super) fn targets(&self) -> Vec<&Named> {
        match self {
            Self::One(target) | Self::Items { target, .. } => vec![target],
            Self::All(targets) => targets.iter().collect(),
            Self::Condition {
                then, otherwise, ..
            } => vec![then, otherwise],
            Self::Switch { cases, default } => {
                let targets = cases.iter().map(|(_, target)| target);
                targets.chain([default]).collect()
            }
            Self::Broken => Vec::new(),
        }
    }
}
