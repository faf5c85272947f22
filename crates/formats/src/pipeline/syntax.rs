//! The syntax of a pipeline.

use indexmap::IndexMap;
use interlock_core::{
    guard::GuardRef,
    machine::{Object, Retry},
    policy::Policy,
};
use serde_json::Value;

use crate::{source::Span, stage};

/// Target that ends a run successfully.
pub(super) const END: &str = "end";
/// Target that ends a run as failed.
pub(super) const FAIL: &str = "fail";

/// A name and its position.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A whole file.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) id: String,
    pub(super) entry: Option<Named>,
    /// Initial context of a run, including inputs with defaults.
    pub(super) context: Object,
    pub(super) settings: Settings,
    pub(super) stages: IndexMap<String, Stage>,
    pub(super) meta: Object,
    /// Whether a part of it could not be parsed, so that what is missing may exist.
    pub(super) incomplete: bool,
}

/// Settings of all stages.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) mode: Option<String>,
    pub(super) allowlist: Vec<String>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) at_once: Option<u64>,
    pub(super) model: Option<String>,
    pub(super) retry: Option<Retry>,
    pub(super) executions_max: Option<u64>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) grant_timeout_ms: Option<u64>,
    pub(super) result_bytes: Option<u64>,
    pub(super) tokens: Option<u64>,
    /// In millionths of a millionth of a US dollar.
    pub(super) pico_usd: Option<u64>,
}

/// One stage.
#[derive(Debug)]
pub(super) struct Stage {
    /// Position of its id.
    pub(super) span: Span,
    pub(super) parts: stage::Stage,
    pub(super) policy: Policy,
    pub(super) model: Option<String>,
    pub(super) next: Next,
    pub(super) ends: Vec<(&'static str, Named)>,
}

/// What follows a successful stage.
#[derive(Debug)]
pub(super) enum Next {
    /// One target.
    To(Named),
    /// The first branch whose guards hold.
    Branches(Vec<Branch>),
    /// Several stages concurrently.
    Fork(Fork),
    /// It could not be parsed.
    Broken,
}

/// A conditional target.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) guards: Vec<GuardRef>,
    pub(super) target: Named,
}

/// Stages that start concurrently.
#[derive(Debug)]
pub(super) struct Fork {
    pub(super) span: Span,
    pub(super) siblings: Vec<Named>,
    pub(super) join: Option<Named>,
    pub(super) on_fail: Option<Named>,
}

/// An input of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Name in the context.
    pub name: String,
    /// Type of the input.
    pub kind: InputKind,
    /// Default; `None` if a value must be given, if it is `required`.
    pub default: Option<Value>,
    /// Whether a run cannot be started without it.
    pub required: bool,
    /// Description for people.
    pub description: Option<String>,
}

/// The type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
    /// Any value.
    Any,
}

impl Stage {
    /// Returns every target and sibling, in the order of the file.
    pub(super) fn targets(&self) -> Vec<&Named> {
        let mut all: Vec<&Named> = match &self.next {
            Next::To(target) => vec![target],
            Next::Branches(branches) => branches.iter().map(|branch| &branch.target).collect(),
            Next::Fork(fork) => fork
                .siblings
                .iter()
                .chain(&fork.join)
                .chain(&fork.on_fail)
                .collect(),
            Next::Broken => Vec::new(),
        };
        all.extend(self.ends.iter().map(|(_, target)| target));
        all
    }

    /// Returns whether it can end without a payload and continue with `next`.
    pub(super) fn may_be_skipped(&self) -> bool {
        let by_assertion =
            |assertion: &stage::Assertion| assertion.otherwise.as_deref() == Some("skip");
        let skips = !self.parts.gate.is_empty() || self.parts.assert.iter().any(by_assertion);
        skips && self.ends.iter().all(|(end, _)| *end != "SKIP")
    }
}

impl InputKind {
    /// Returns the type of that name.
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// Describes the type in a message.
    #[must_use]
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Number => "a number",
            Self::Integer => "a whole number",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "an object",
            Self::Any => "any value",
        }
    }

    /// Returns whether `value` has this type.
    #[must_use]
    pub fn admits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.as_number().is_some_and(is_whole),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
            Self::Any => true,
        }
    }

    /// Parses a value from the command line: text unchanged, anything else as JSON.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Value> {
        let value = match self {
            Self::String => Value::from(text),
            Self::Any => serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::from(text)),
            _ => serde_json::from_str(text.trim()).ok()?,
        };
        self.admits(&value).then_some(value)
    }
}

/// Returns whether a number has no fraction, like `1.0`.
fn is_whole(number: &serde_json::Number) -> bool {
    let text = number.as_str();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    !whole.contains(['e', 'E']) && fraction.bytes().all(|digit| digit == b'0')
}
