//! What is to be carried out, and what became of it.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use interlock_core::{
    event::{Event, Passing},
    machine::{EffectKind, Machine},
    names::FramePath,
    run::Run,
};

use crate::stage::StageOrder;

/// One effect, as it is to be carried out.
#[derive(Debug, Clone)]
pub struct Order {
    /// Stable: run, frame path and the sequence number of the state's entry.
    pub id: String,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// What kind of work it is.
    pub kind: EffectKind,
    /// The state's path, as shown.
    pub path: String,
    /// What people call it: `process-file 2 of 3` for an item, else its path.
    pub title: String,
    /// What the tool is given, filled.
    pub input: Value,
    /// Where its output goes.
    pub capture: Option<Capture>,
    /// What its lines are shown behind: the branches it runs in.
    pub label: Option<String>,
    /// Whether nothing else runs beside it, so that it may have the terminal.
    pub alone: bool,
    /// Whether the run reads the whole output although nothing captures it.
    pub read_whole: bool,
    /// Whether its output is shown where nothing captures it; a list of items is not.
    pub shown: bool,
    /// What a model stage is started with; `None`: it is none.
    pub stage: Option<Box<StageOrder>>,
    /// What a tool state or a custom node is computed over; `None`: it is none.
    pub node: Option<Box<NodeOrder>>,
}

/// What a tool state or a custom node is computed over.
#[derive(Debug, Clone)]
pub struct NodeOrder {
    /// The run's machine.
    pub machine: Arc<Machine>,
    /// The run, as it was when the node was started.
    pub run: Arc<Run>,
    /// The frame.
    pub path: FramePath,
    /// Every event of the run, where the node reads records.
    pub events: Vec<Event>,
}

/// Where an output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    /// Into the run, as text.
    Text,
    /// Into this file, byte for byte.
    File(PathBuf),
}

/// What became of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded with this output, not trimmed; a preview where nobody reads all of it.
    Done {
        /// Standard output.
        stdout: String,
        /// The beginning and the end of standard error.
        stderr: String,
    },
    /// It failed.
    Failed(Failed),
    /// A person interrupted it at the terminal it had.
    Interrupted,
}

/// How an effect failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failed {
    /// The code that it is routed by.
    pub code: i64,
    /// A stable name of the reason, where the program's own code says nothing.
    pub reason: Option<&'static str>,
    /// One sentence.
    pub message: String,
    /// The beginning and the end of standard output.
    pub stdout: String,
    /// The beginning and the end of standard error.
    pub stderr: String,
    /// Whether it may pass by itself; `None`: it does not say, or it will not.
    pub passing: Option<Passing>,
}

impl Failed {
    /// Names a failure before anything was started.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            ..Self::default()
        }
    }
}

impl From<Failed> for Outcome {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}
