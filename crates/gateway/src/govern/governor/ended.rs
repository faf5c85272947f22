//! The end of a call: what is recorded, and what the client gets in place of a result.

use interlock_core::{
    call::CallResult, command::CommandKind, event::TokenPlace, machine::Machine, names::CallId,
    run::Run,
};
use interlock_store::StoreError;
use interlock_view::{briefing, notice};
use serde_json::value::RawValue;

use super::{Governor, Passed};
use crate::{
    govern::{
        CallDecision, CallEnd, Instead, Ticket, lists,
        results::{self, Outcome},
    },
    live::Live,
};

impl Governor {
    /// Records how a call ended, and returns what the client gets in place of its result.
    pub(super) fn record(
        &mut self,
        id: &CallId,
        passed: &Passed,
        result: CallEnd<'_>,
        at_ms: u64,
    ) -> Result<Option<Instead>, StoreError> {
        let (mut outcome, error_bytes) = match result {
            CallEnd::Result(text) => (Outcome::read(text.get()), length(text)),
            CallEnd::Error(text) => (None, results::error_bytes(text)),
            CallEnd::Unknown => (None, 0),
        };
        let token_is_new = match result {
            CallEnd::Result(text) | CallEnd::Error(text) => {
                let home = &self.settings.environment.home;
                home.void_token_in_json(text.get(), &passed.run)? == Some(true)
            }
            CallEnd::Unknown => false,
        };
        let is_known = !matches!(result, CallEnd::Unknown);
        // The consequences of a known end are decided again if other processes have written meanwhile.
        let live = if is_known {
            self.opened.live_as_seen(&passed.run)?
        } else {
            self.opened.live(&passed.run)?
        };
        if token_is_new {
            let place = TokenPlace::Result;
            live.ask(at_ms, CommandKind::ReportToken { place })?;
        }
        if let Some(outcome) = outcome.as_ref().filter(|outcome| outcome.goes_on()) {
            let passed = Passed {
                waits: outcome.wants_input(),
                state: outcome.request_state().cloned(),
                ..passed.clone()
            };
            self.remember(id.clone(), passed);
            return Ok(None);
        }
        // What it wrote is unknown: it counts as done when a transition is requested.
        if !is_known && live.may_have_written(id) {
            return Ok(None);
        }
        let ok = outcome.as_ref().is_some_and(Outcome::is_ok);
        let bytes = outcome.as_ref().map_or(error_bytes, Outcome::bytes);
        let mut cut_to = None;
        let decision = live.ask_made(at_ms, |machine, run| {
            cut_to = bytes_left(machine, run, id).filter(|(left, _)| bytes > *left);
            CommandKind::Record(CallResult {
                id: Some(id.clone()),
                ok,
                exit: None,
                bytes: cut_to.map_or(bytes, |(left, _)| left),
                wrote: Vec::new(),
                commands: Vec::new(),
                checked: interlock_core::substance::Checked::default(),
            })
        })?;
        let mut changed = false;
        let mut error = None;
        if let Some((left, limit)) = cut_to {
            match (outcome.as_mut(), result) {
                (Some(outcome), _) => {
                    outcome.cut(left, passed.has_schema, limit);
                    changed = true;
                }
                (None, CallEnd::Error(text)) => error = Some(results::cut_error(text, left, limit)),
                (None, CallEnd::Result(_) | CallEnd::Unknown) => {}
            }
        }
        if let Some(notice) = notice(&live.machine, &live.run, &decision.events)
            && let Some(outcome) = &mut outcome
        {
            let now = briefing(&live.machine, &live.run, Some(&decision.path));
            outcome.add(&format!("[Interlock: {notice}\n{now}]"));
            changed = true;
        }
        self.opened.seen();
        let outcome = outcome.filter(|_| changed).map(Outcome::into_value);
        Ok(error.map(Instead::Error).or(outcome.map(Instead::Result)))
    }
}

impl Live {
    /// Allows a call, with the remaining limit for its result.
    pub(super) fn pass(&self, id: &CallId) -> CallDecision {
        CallDecision::Pass(Ticket {
            call: Some(id.clone()),
            bytes_max: bytes_left(&self.machine, &self.run, id).map(|(left, _)| left),
        })
    }

    /// Returns whether an allowed call still counts in its state: nothing has moved or stopped its region since.
    pub(super) fn is_current(&self, id: &CallId) -> bool {
        let call = self.run.calls.iter().find(|call| call.id == *id);
        let frame = call.and_then(|call| Some((call, self.run.frame(&call.path)?)));
        self.run.paused.is_none()
            && frame.is_some_and(|(call, frame)| {
                frame.stay.entered_seq == call.entered_seq
                    && frame.stay.pending_transition().is_none()
            })
    }

    /// Returns whether an open call may have written.
    fn may_have_written(&self, id: &CallId) -> bool {
        let call = self.run.calls.iter().find(|call| call.id == *id);
        call.is_some_and(|call| call.marks.writes || !call.marks.hits.is_empty())
    }
}

/// Returns the remaining bytes of results in the stay that a call belongs to, and their limit.
fn bytes_left(machine: &Machine, run: &Run, id: &CallId) -> Option<(u64, u64)> {
    let call = run.calls.iter().find(|call| call.id == *id)?;
    let frame = run.frame(&call.path)?;
    if frame.stay.entered_seq != call.entered_seq {
        return None;
    }
    let state = lists::state(machine, run, &call.path)?;
    let limit = state.policy.result_bytes_max?;
    Some((limit.saturating_sub(frame.stay.used.bytes), limit))
}

fn length(text: &RawValue) -> u64 {
    u64::try_from(text.get().len()).unwrap_or(u64::MAX)
}
