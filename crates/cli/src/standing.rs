//! The state of a run: read from its log, and shown. Nothing here changes a run.

mod attempts;
mod halted;
mod print;
mod steps;

use interlock_clients::{ClientId, tools::conversation};
use interlock_core::{
    Decision, machine::Machine, pending::pending, place, place::stage_of, run::Run,
};
use interlock_sandbox::{Level, Unconfined, probe};
use interlock_view::report;
use serde_json::{Value, json};

pub(crate) use attempts::{attempts, sentence as attempt_sentence};
pub(crate) use halted::{Halted, Wait, waits};
pub(crate) use print::print;

use crate::{
    failure::Failure,
    live::{Live, put},
};

/// Returns whether a run that guards an agent is in a model stage, which Interlock itself runs.
pub(crate) fn stands_in_stage(machine: &Machine, run: &Run) -> bool {
    let leaves = run.open_leaves();
    let mut frames = leaves.iter().filter_map(|path| run.frame(path));
    !run.is_over() && frames.any(|frame| stage_of(machine, frame).is_some())
}

impl Live {
    /// Returns the state of the run, in the format of `status --json`.
    pub(crate) fn status(&self, decision: Option<&Decision>) -> Result<Value, Failure> {
        let mut line = json!({ "run": self.run.id, "workflow": self.machine.id });
        let held = self.home.session_of(&self.run.id)?;
        put(
            &mut line,
            "session",
            json!(held.as_ref().map(|binding| &binding.session.session)),
        );
        let focus = decision
            .map(|decision| &decision.path)
            .filter(|path| !path.is_root());
        if let Value::Object(report) =
            serde_json::to_value(report(&self.machine, &self.run, focus))?
        {
            for (key, value) in report {
                put(&mut line, &key, value);
            }
        }
        let asked = pending(&self.machine, &self.run);
        let mut waiting: Vec<Value> = asked.iter().map(|one| json!(one)).collect();
        let standing = report::standing(&self.machine, &self.run);
        waiting.extend(standing.iter().map(|one| json!(one)));
        put(&mut line, "pending", Value::Array(waiting));
        if self.machine.durable {
            steps::describe(self, &mut line)?;
            return Ok(line);
        }
        let client = held
            .as_ref()
            .and_then(|binding| binding.session.client.as_deref());
        if let Some(client) = client.and_then(ClientId::named) {
            put(&mut line, "conversation", json!(self.conversation(client)));
        }
        put(&mut line, "confinement", confinement(&self.run));
        if !self.run.changed.is_empty() {
            put(&mut line, "changed", json!(self.run.changed));
        }
        Ok(line)
    }
}

impl Live {
    /// Names the client's tools that are always allowed here, since they only manage the conversation.
    fn conversation(&self, client: ClientId) -> Vec<&'static str> {
        let focus = place::focus(&self.run, None);
        let state = self.run.frame(&focus).and_then(|frame| {
            let machine = place::machine_of(&self.machine, &self.run, &focus)?;
            machine.states.get(&frame.at)
        });
        let mut names = conversation(client);
        names.retain(|name| state.is_none_or(|state| !state.policy.disallows(&[name])));
        names
    }
}

/// Describes how far shell lines are confined here, and how far the last one was.
fn confinement(run: &Run) -> Value {
    let reached = probe();
    let named = |level: Level, unconfined: &[Unconfined]| {
        let unconfined: Vec<&str> = unconfined.iter().map(|thing| thing.as_str()).collect();
        json!({ "level": level.as_str(), "unconfined": unconfined })
    };
    json!({
        "no_write": named(reached.no_write, &reached.no_write_unconfined),
        "writing": named(reached.writing, &reached.writing_unconfined),
        "last_line": run.confined,
    })
}
