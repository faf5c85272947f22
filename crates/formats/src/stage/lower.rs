//! A stage as it is written becomes what a machine has.

use indexmap::IndexMap;
use interlock_core::{
    guard::{FieldGuard, Guard, GuardRef, Source},
    machine::{
        ApprovalBefore, Assertion as Lowered, Ending, ModelOptions, ModelStage, Otherwise, Refused,
    },
    names::GuardName,
};

use super::Stage;

/// The time of one attempt where nothing else is said.
const TIMEOUT_MS: u64 = 30 * 60 * 1_000;

/// Guards that the gate of one stage is made of, those it names written out.
const GUARDS_MAX: usize = 1_000;

impl Stage {
    /// Returns what the model is given and what bounds it.
    ///
    /// What the gate names is taken as it is: see [`Self::over_context`].
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

    /// Returns the guards of the gate with those that they name written out, reading the context.
    ///
    /// For formats whose named guards read the output where they do not say
    /// what: before a stage there is none.
    pub(crate) fn over_context(&self, guards: &IndexMap<GuardName, Guard>) -> Vec<GuardRef> {
        let mut gate = Gate {
            guards,
            left: GUARDS_MAX,
        };
        self.gate.iter().map(|guard| gate.own(guard)).collect()
    }

    /// Returns what a person is asked before it starts.
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

/// Makes the guards of a gate, where there is no output yet.
struct Gate<'g> {
    guards: &'g IndexMap<GuardName, Guard>,
    /// Guards that may still be written out.
    left: usize,
}

impl Gate<'_> {
    /// Returns a guard as it is, with those it names written out.
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

    /// Returns a guard that has a name, written out and reading the context.
    fn named(&mut self, guard: &GuardRef) -> GuardRef {
        let known = match guard {
            GuardRef::Named(name) => self.guards.get(name),
            GuardRef::Inline(guard) => Some(guard.as_ref()),
        };
        // One that is too large keeps its name, reads an output that is not there, and does not hold.
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
