//! Converts a parsed stage for the machine.

use indexmap::IndexMap;
use interlock_core::{
    guard::{FieldGuard, Guard, GuardRef, Source},
    machine::{
        ApprovalBefore, Assertion as Lowered, Ending, ModelOptions, ModelStage, Otherwise, Refused,
    },
    names::GuardName,
};

use super::Stage;

/// Default time limit of one attempt.
const TIMEOUT_MS: u64 = 30 * 60 * 1_000;

/// Maximum number of guards in the gate of one stage, with named ones expanded.
const GUARDS_MAX: usize = 1_000;

impl Stage {
    /// Returns the model's part of the stage, with its limits.
    ///
    /// Guards named by the gate are taken unchanged: see [`Self::over_context`].
    pub(crate) fn model_stage(&self, timeout_ms: Option<u64>) -> ModelStage {
        ModelStage {
            body: self.body.clone(),
            task: None,
            history: false,
            ending: Ending::Tool {
                name: self.completion_tool.clone(),
                schema: self.schema.clone(),
            },
            turns_max: self.turns_max,
            gate: self.gate.clone(),
            assert: self.assert.iter().map(assertion).collect(),
            options: ModelOptions {
                temperature: self.temperature.clone(),
                max_output_tokens: self.output_tokens_max,
                thinking: self.thinking.clone(),
            },
            result_bytes: None,
            timeout_ms: Some(timeout_ms.unwrap_or(TIMEOUT_MS)),
        }
    }

    /// Returns the guards of the gate with named ones expanded, reading the context.
    ///
    /// This is for formats whose named guards read the output by default: before a stage there is none.
    pub(crate) fn over_context(&self, guards: &IndexMap<GuardName, Guard>) -> Vec<GuardRef> {
        let mut gate = Gate {
            guards,
            left: GUARDS_MAX,
        };
        self.gate.iter().map(|guard| gate.own(guard)).collect()
    }

    /// Returns the question to a person before it starts.
    pub(crate) fn approval_before(&self) -> Option<ApprovalBefore> {
        let message = self.approval.clone()?;
        Some(ApprovalBefore {
            message,
            no: Refused::Fails,
        })
    }
}

fn assertion(written: &super::Assertion) -> Lowered {
    Lowered {
        guard: written.guard.clone(),
        otherwise: match written.otherwise.as_deref() {
            Some("retry") => Otherwise::Retry,
            Some("skip") => Otherwise::Skip,
            _ => Otherwise::Fail,
        },
        message: written.message.clone(),
    }
}

/// Creates the guards of a gate, where there is no output yet.
struct Gate<'g> {
    guards: &'g IndexMap<GuardName, Guard>,
    /// Number of guards that may still be expanded.
    left: usize,
}

impl Gate<'_> {
    /// Returns a guard with named ones in it expanded.
    fn own(&mut self, guard: &GuardRef) -> GuardRef {
        match guard {
            GuardRef::Named(_) => self.named(guard),
            GuardRef::Inline(guard) => GuardRef::Inline(Box::new(match guard.as_ref() {
                Guard::All(items) => Guard::All(items.iter().map(|item| self.own(item)).collect()),
                Guard::Any(items) => Guard::Any(items.iter().map(|item| self.own(item)).collect()),
                Guard::Not(item) => Guard::Not(Box::new(self.own(item))),
                other => other.clone(),
            })),
        }
    }

    /// Returns a named guard, expanded and reading the context.
    fn named(&mut self, guard: &GuardRef) -> GuardRef {
        let known = match guard {
            GuardRef::Named(name) => self.guards.get(name),
            GuardRef::Inline(guard) => Some(guard.as_ref()),
        };
        // A guard that is too large keeps its name, reads an output that does not exist, and does not hold.
        let Some((known, left)) = known.zip(self.left.checked_sub(1)) else {
            return guard.clone();
        };
        self.left = left;
        let read = match known {
            Guard::Field(field) => Guard::Field(FieldGuard {
                from: Source::Context,
                ..field.clone()
            }),
            Guard::All(items) => Guard::All(items.iter().map(|item| self.named(item)).collect()),
            Guard::Any(items) => Guard::Any(items.iter().map(|item| self.named(item)).collect()),
            Guard::Not(item) => Guard::Not(Box::new(self.named(item))),
            other => other.clone(),
        };
        GuardRef::Inline(Box::new(read))
    }
}
