//! Tasks and effects, by kind.

use std::fmt;

use interlock_expr::text::ValueTemplate;
use serde::{Deserialize, Serialize};

use crate::names::ProgramName;

/// A task that a runner carries out for a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What carries the task out.
    pub kind: TaskKind,
    /// Input of the task; holes are filled when the state is entered.
    #[serde(default)]
    pub input: ValueTemplate,
}

/// Kind of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A program, by the name that the runner knows.
    Program(ProgramName),
    /// A node, which the runner computes.
    Node(NodeKind),
}

/// Kind of a node; `interlock-nodes` defines its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The result of a tool call with the given arguments.
    ToolCall,
    /// An object made from another object.
    Transform,
    /// A list of the documents of datasources.
    DocumentsTree,
    /// The combined outputs of states that have ended.
    StateRecords,
}

/// Kind of an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A program runs, by the name that the runner knows.
    Program(ProgramName),
    /// A node is computed.
    Node(NodeKind),
    /// A model works through a stage.
    Stage,
    /// A person answers a question.
    Ask,
    /// A person resumes the run.
    Pause,
    /// An output is written to its file.
    Write,
    /// Files named in texts are read.
    Read,
    /// Time passes.
    Wait,
    /// The next items of a loop start.
    Items,
}

impl From<&TaskKind> for EffectKind {
    fn from(kind: &TaskKind) -> Self {
        match kind {
            TaskKind::Program(name) => Self::Program(name.clone()),
            TaskKind::Node(kind) => Self::Node(*kind),
        }
    }
}

impl EffectKind {
    /// Returns whether a runner performs the effect without a model or a person: a program or a node.
    #[must_use]
    pub const fn is_task(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Node(_))
    }

    /// Returns whether the effect is the program with this name.
    #[must_use]
    pub fn is_program(&self, name: &str) -> bool {
        matches!(self, Self::Program(own) if own.as_str() == name)
    }
}

impl NodeKind {
    /// Returns the kind as it appears in logs and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::Transform => "transform",
            Self::DocumentsTree => "documents_tree",
            Self::StateRecords => "state_records",
        }
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program(name) => name.as_str(),
            Self::Node(kind) => kind.as_str(),
            Self::Stage => "stage",
            Self::Ask => "ask",
            Self::Pause => "pause",
            Self::Write => "write",
            Self::Read => "read",
            Self::Wait => "wait",
            Self::Items => "items",
        })
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program(name) => name.as_str(),
            Self::Node(kind) => kind.as_str(),
        })
    }
}
