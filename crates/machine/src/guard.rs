//! Guards: conditions on the context, on an output or on evidence.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use interlock_expr::expression::Expression;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{names::GuardName, substance::ReportGuard};

/// A condition that a transition needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Compares one field.
    Field(FieldGuard),
    /// Every item holds.
    All(Vec<GuardRef>),
    /// At least one item holds.
    Any(Vec<GuardRef>),
    /// The item does not hold.
    Not(Box<GuardRef>),
    /// Interlock has seen the call succeed.
    Evidence(EvidenceGuard),
    /// The output equals this text after trimming, ignoring case.
    Output(String),
    /// The activity failed with this code.
    Code(i64),
    /// The activity failed, but nobody cancelled it.
    Uncancelled,
    /// An expression over the output and the context holds.
    Expression(ExpressionGuard),
}

impl Guard {
    /// Returns the guards that this guard is composed of; none for a simple guard.
    #[must_use]
    pub fn items(&self) -> &[GuardRef] {
        match self {
            Self::All(items) | Self::Any(items) => items,
            Self::Not(item) => std::slice::from_ref(item.as_ref()),
            Self::Field(_)
            | Self::Evidence(_)
            | Self::Output(_)
            | Self::Code(_)
            | Self::Uncancelled
            | Self::Expression(_) => &[],
        }
    }
}

/// Returns `guards` and all their parts, in the order in which they are written.
///
/// A named guard appears once, however often it is referenced, so that the work is bounded by the size
/// of the workflow.
#[must_use]
pub fn with_parts<'a>(
    named: &'a IndexMap<GuardName, Guard>,
    guards: &'a [GuardRef],
) -> Vec<&'a Guard> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut waiting: Vec<&GuardRef> = guards.iter().rev().collect();
    while let Some(guard) = waiting.pop() {
        let guard = match guard {
            GuardRef::Inline(guard) => guard.as_ref(),
            GuardRef::Named(name) if !seen.insert(name) => continue,
            GuardRef::Named(name) => match named.get(name) {
                Some(guard) => guard,
                None => continue,
            },
        };
        found.push(guard);
        waiting.extend(guard.items().iter().rev());
    }
    found
}

/// A condition that a workflow writes as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpressionGuard {
    /// Text of the expression, as written.
    pub text: String,
    /// The parsed expression.
    pub expression: Expression,
}

/// A guard by name, or written in place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardRef {
    /// A key of the machine's guards.
    Named(GuardName),
    /// A guard without a name.
    Inline(Box<Guard>),
}

/// A comparison of one field with a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldGuard {
    /// A top-level key, or a JSON Pointer when it begins with `/`.
    pub field: String,
    /// What the field is looked up in.
    #[serde(default)]
    pub from: Source,
    /// How it is compared.
    pub op: Op,
    /// The value to compare with, null included; `None` for `exists` and `not_exists`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Value>,
}

/// Reads a value that is present, null included: serde alone turns null into `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What a field guard reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The context from before the transition.
    #[default]
    Context,
    /// The output of the state's own activity.
    Output,
}

/// How a field guard compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Deeply equal.
    Eq,
    /// Present, and not deeply equal.
    Neq,
    /// A number greater than the value.
    Gt,
    /// A number not less than the value.
    Gte,
    /// A number less than the value.
    Lt,
    /// A number not greater than the value.
    Lte,
    /// Deeply equal to an item of the value.
    In,
    /// Text that contains the value, or a list with an item equal to it.
    Contains,
    /// Present, and not null.
    Exists,
    /// Missing, or null.
    NotExists,
}

impl Op {
    /// Returns the operator as workflow files write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Neq => "neq",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::In => "in",
            Self::Contains => "contains",
            Self::Exists => "exists",
            Self::NotExists => "not_exists",
        }
    }
}

/// A call that must have been seen to succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceGuard {
    /// The call that must have succeeded.
    pub of: EvidenceOf,
    /// The point after which the call must have begun.
    #[serde(default)]
    pub since: Since,
    /// What the report of the command must say; `None`: its exit code suffices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportGuard>,
    /// Patterns of files that must be unchanged since the run's start or the last approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<String>,
}

impl EvidenceGuard {
    /// Creates a guard that requires only a call.
    #[must_use]
    pub const fn of(of: EvidenceOf, since: Since) -> Self {
        Self {
            of,
            since,
            report: None,
            frozen: Vec::new(),
        }
    }

    /// Returns the key under which a run stores the evidence for this guard.
    ///
    /// Two guards can require the same command with different reports; each has its own key.
    #[must_use]
    pub fn key(&self) -> String {
        let key = self.of.key();
        match &self.report {
            Some(report) => {
                let source = &report.source;
                format!("{key} {}:{}", source.format.as_str(), source.path)
            }
            None => key,
        }
    }

    /// Describes what the guard requires besides the call, for people; `None`: nothing.
    #[must_use]
    pub fn substance_shown(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(report) = &self.report {
            parts.push(format!("report `{}`", report.source.path));
        }
        if !self.frozen.is_empty() {
            let patterns: Vec<String> = self.frozen.iter().map(|one| format!("`{one}`")).collect();
            parts.push(format!("{} frozen", patterns.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The call that an evidence guard requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceOf {
    /// A shell command that begins with these words and ended with this exit code.
    Command {
        /// Text of the command, as written.
        text: String,
        /// Split as shell words.
        words: Vec<String>,
        /// The exit code it must have ended with.
        exit: i64,
        /// Directory in which it must have run, relative to the project root; `None`: the root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
    },
    /// A call of a tool that succeeded.
    Tool {
        /// The tool, with `*` as wildcard.
        tool: String,
        /// The path it was called with, relative to the project root.
        path: Option<String>,
    },
}

/// The point after which a call must have begun to count as evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// The last write that was allowed.
    #[default]
    LastEdit,
    /// The entry of the state that the requested transition leaves.
    StateEntry,
    /// The start of the run.
    RunStart,
}

impl EvidenceOf {
    /// Returns a command for messages, with its directory if the guard names one.
    #[must_use]
    pub fn command_shown(&self) -> Option<String> {
        match self {
            Self::Command {
                text,
                directory: Some(directory),
                ..
            } => Some(format!("`{text}` in `{directory}`")),
            Self::Command { text, .. } => Some(format!("`{text}`")),
            Self::Tool { .. } => None,
        }
    }

    /// Returns the key under which a run stores the evidence for this call.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Command {
                text,
                directory: Some(directory),
                ..
            } => format!("command in {directory:?}:{text}"),
            Self::Command { text, .. } => format!("command:{text}"),
            Self::Tool { tool, path } => {
                format!("tool:{tool}:{}", path.as_deref().unwrap_or("*"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::FieldGuard;

    #[test]
    fn a_guard_survives_being_written_and_read() {
        for text in [
            r#"{"field":"x","from":"context","op":"eq","value":null}"#,
            r#"{"field":"x","from":"output","op":"exists"}"#,
            r#"{"field":"/x/0","from":"context","op":"gt","value":9007199254740993}"#,
        ] {
            let guard: FieldGuard = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&guard).unwrap(), text);
        }
    }
}
