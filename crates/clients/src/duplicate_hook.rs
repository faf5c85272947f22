//! Ensures that a call which a client reports twice is judged and counted once.
//!
//! The first hook to report a call has it judged. The other hook's report counts as the same call, once, as long as the call is
//! open and its state has not been left. A second call with the same arguments is judged like any other.

use interlock_core::{names::CallId, run::Run};
use interlock_facts::digest;
use interlock_project::Environment;
use interlock_store::{DuplicateCall, DuplicateCalls};
use serde_json::Value;

use crate::{
    answer::{Answer, Say},
    input::{Event, Input},
    plugins,
    protocol::{DuplicateHook, Side},
    registry,
    session::Guarded,
};

/// Judges a call, unless this is the duplicate report of a call that was allowed.
pub(crate) fn judged_once(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
    judge: impl FnOnce(&mut Guarded) -> Result<Answer, String>,
) -> Result<Answer, String> {
    let Some(duplicate) = telling(environment, input) else {
        return judge(guarded);
    };
    let said = |error: interlock_store::StoreError| error.to_string();
    let mut duplicates: DuplicateCalls<'_> = environment
        .home
        .lock_duplicate_calls(&guarded.binding.session)
        .map_err(said)?;
    let run = guarded.id().clone();
    // A process that waited for the lock may have an older view of the run.
    if duplicates.has(&duplicate.key, duplicate.side.word()) {
        guarded.refresh().map_err(said)?;
    }
    let other = |kept: &DuplicateCall| kept.run == run && still_counts(&guarded.run, kept);
    let taken = duplicates.take(&duplicate.key, duplicate.side.word(), other);
    if let Some(taken) = taken.map_err(said)? {
        match taken.refusal {
            Some(reason) => return Ok(Say::Deny(reason).into()),
            None if guarded.run.paused.is_none() => return Ok(Say::Nothing.into()),
            None => {}
        }
    }
    let before = guarded.run.seq;
    let answer = judge(guarded)?;
    let kept = |call: CallId, seq: u64, refusal: Option<&String>| {
        let others = Side::ALL.into_iter().filter(|side| *side != duplicate.side);
        let kept = others.map(|side| DuplicateCall {
            run: run.clone(),
            call: call.clone(),
            entered_seq: seq,
            key: duplicate.key.clone(),
            side: side.word().to_owned(),
            refusal: refusal.cloned(),
        });
        kept.collect::<Vec<_>>()
    };
    let id = match &input.event {
        Event::BeforeTool(used) => used.id.as_ref(),
        _ => None,
    };
    let left = match &answer.say {
        Say::Nothing | Say::Allow(_) | Say::Rewrite { .. } => {
            let mut calls = guarded.run.calls.iter();
            let allowed =
                calls.rfind(|call| call.begun_seq >= before && id.is_none_or(|id| call.id == *id));
            allowed.map(|call| kept(call.id.clone(), call.entered_seq, None))
        }
        Say::Deny(reason) => {
            let call = id.cloned().unwrap_or_else(|| CallId::new(""));
            Some(kept(call, guarded.run.seq, Some(reason)))
        }
        _ => return Ok(answer),
    };
    let mut left = left.unwrap_or_default();
    // If hooks run one after the other, the next one receives the call as this one has changed it.
    if let (Say::Rewrite { input: made, .. }, Event::BeforeTool(used)) = (&answer.say, &input.event)
    {
        let key = digest(&used.name, made);
        let again = left.clone().into_iter();
        left.extend(again.map(|kept| DuplicateCall {
            key: key.clone(),
            ..kept
        }));
    }
    let alive = |kept: &DuplicateCall| kept.run == run && still_counts(&guarded.run, kept);
    duplicates.leave(left, alive).map_err(said)?;
    Ok(answer)
}

/// Returns which report of a call this is, if the client reports each call more than once, or a plugin reports it in addition to
/// settings.
fn telling(environment: &Environment, input: &Input) -> Option<DuplicateHook> {
    let own = registry::protocol(input.client).duplicate(environment, input);
    let Event::BeforeTool(used) = &input.event else {
        return own;
    };
    if !input.by_plugin && !plugins::is_installed(input.client, environment) {
        return own;
    }
    let (key, side) = match (own, &used.id) {
        (Some(own), _) => (own.key, own.side),
        // The next hook receives the call as this hook has changed it.
        (None, Some(id)) => (digest(&used.name, &Value::from(id.as_str())), Side::General),
        (None, None) => (digest(&used.name, &used.input), Side::General),
    };
    let side = if input.by_plugin { Side::Plugin } else { side };
    Some(DuplicateHook { key, side })
}

/// Returns whether the answer to a call still counts: the call is open, or it was refused and nothing has happened since.
fn still_counts(run: &Run, kept: &DuplicateCall) -> bool {
    match kept.refusal {
        Some(_) => run.seq == kept.entered_seq,
        None => is_open(run, kept),
    }
}

/// Returns whether a call is still open in the stay in which it was allowed.
fn is_open(run: &Run, kept: &DuplicateCall) -> bool {
    let call = run.calls.iter().find(|call| call.id == kept.call);
    call.is_some_and(|call| {
        let frame = run.frame(&call.path);
        !call.asked
            && call.entered_seq == kept.entered_seq
            && frame.is_some_and(|frame| {
                frame.stay.entered_seq == kept.entered_seq
                    && frame.stay.pending_transition().is_none()
            })
    })
}
