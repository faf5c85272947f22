//! Tool states and custom nodes: work without a model, or with one call per record.
//!
//! The computation is in [`interlock_nodes`]; this module provides tools, servers and folders.

mod agent;
mod chosen;
mod lookup;
mod records;
mod servers;
mod talk;
mod tool;
mod tree;

use interlock_core::{
    event::Passing,
    machine::{EffectKind, NodeKind},
};
use interlock_nodes::{Inputs, NodeError, NodeOutput, TransformNode, transform};
use interlock_process::Cancel;
use interlock_tools::{Secrets, findings};
use serde::de::DeserializeOwned;

pub(crate) use agent::fitted;
pub use lookup::look_up;
pub(crate) use talk::Talk;

use crate::{
    nodes::{Configured, Nodes, NotStarted, ServerRequest},
    order::{Failed, NodeOrder, Order, Outcome},
    output::written,
    run_context::RunContext,
    stage::Outbox,
};

/// Code of a node that failed.
const FAILED: i64 = 1;
/// Code of a node that somebody stopped.
const CANCELLED: i64 = 130;

/// Runs a node; its output is stored like that of a program.
pub(crate) fn carry(
    order: &Order,
    node: &NodeOrder,
    context: &RunContext,
    cancel: &Cancel,
    outbox: Outbox,
) -> Outcome {
    let Some(given) = Inputs::of(&node.machine, &node.run, &node.path) else {
        return Failed::new(FAILED, "its frame is not there any more").into();
    };
    let mut work = Worked {
        order,
        node,
        given,
        context,
        cancel,
        talk: Talk::new(order, &node.path, outbox),
        secrets: Vec::new(),
    };
    let made = match &order.kind {
        EffectKind::Node(NodeKind::Transform) => work.transform(),
        EffectKind::Node(NodeKind::ToolCall) => work.tool(),
        EffectKind::Node(NodeKind::DocumentsTree) => work.documents(),
        EffectKind::Node(NodeKind::StateRecords) => work.records(),
        other => Err(Failed::new(
            2,
            format!("this runner has no node `{other}`; update Interlock"),
        )),
    };
    work.told(made)
}

/// A running node.
struct Worked<'a> {
    order: &'a Order,
    node: &'a NodeOrder,
    given: Inputs,
    context: &'a RunContext,
    cancel: &'a Cancel,
    talk: Talk,
    /// Values that neither output nor messages may contain.
    secrets: Vec<String>,
}

impl Worked<'_> {
    /// Parses the input of the node.
    fn input<T: DeserializeOwned>(&self) -> Result<T, Failed> {
        serde_json::from_value(self.order.input.clone()).map_err(|error| {
            let why = format!("the run contains a node that cannot be read: {error}");
            Failed::new(2, why)
        })
    }

    fn nodes(&self) -> Result<&Nodes, Failed> {
        let nodes = self.context.nodes.as_deref();
        nodes.ok_or_else(|| Failed::new(FAILED, "tool states cannot run here"))
    }

    fn transform(&mut self) -> Result<NodeOutput, Failed> {
        let node: TransformNode = self.input()?;
        let faults = |value: &serde_json::Value, schema: &serde_json::Value| {
            let faults = findings(value, schema).into_iter();
            faults.map(|fault| fault.to_string()).collect()
        };
        transform(&node, &self.given, faults).map_err(|error| failed(&error))
    }

    /// Creates the outcome, with all secrets masked.
    fn told(&self, made: Result<NodeOutput, Failed>) -> Outcome {
        let secrets = Secrets::known(self.secrets.iter().cloned());
        match made {
            Ok(output) => {
                let text = secrets.masked_known(&output.text()).into_owned();
                match written(self.order, &text, self.context) {
                    Outcome::Done { stdout, .. } => Outcome::Done {
                        stdout,
                        stderr: secrets
                            .masked_known(&output.warnings.join("\n"))
                            .into_owned(),
                    },
                    other => other,
                }
            }
            Err(mut failed) => {
                for text in [&mut failed.message, &mut failed.stdout, &mut failed.stderr] {
                    *text = secrets.masked_known(text).into_owned();
                }
                failed.into()
            }
        }
    }
}

/// Creates a failure from a node's error.
fn failed(error: &NodeError) -> Failed {
    Failed {
        reason: Some(error.code),
        ..Failed::new(FAILED, error.message.clone())
    }
}

/// Creates a failure with a reason, and whether it is transient.
fn reasoned(reason: &'static str, message: impl Into<String>, passing: Option<Passing>) -> Failed {
    Failed {
        reason: Some(reason),
        passing,
        ..Failed::new(FAILED, message)
    }
}
