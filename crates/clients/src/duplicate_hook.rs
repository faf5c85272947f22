//! A call that a client tells of twice is judged and counted once.
//!
//! Whichever hook tells it first has it judged; the other one's telling is the same
//! call as long as that is open and its state has not been left, and once only. Who
//! tells of a second call with the same arguments has that judged like any other.

use interlock_core::run::Run;
use interlock_store::{DuplicateCall, DuplicateCalls};

use crate::{
    answer::{Answer, Say},
    hook_setting::HookSetting,
    input::{Event, Input},
    protocol::Side,
    registry,
    session::Guarded,
};

/// Has a call judged, where it is not the other telling of one that was allowed.
pub(crate) fn judged_once(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
    judge: impl FnOnce(&mut Guarded) -> Result<Answer, String>,
) -> Result<Answer, String> {
    let Some(duplicate) = registry::protocol(input.client).duplicate(setting, input) else {
        return judge(guarded);
    };
    let said = |error: interlock_store::StoreError| error.to_string();
    let mut duplicates: DuplicateCalls = setting
        .home
        .lock_twins(&guarded.binding.session)
        .map_err(said)?;
    let run = guarded.id().clone();
    // Whoever waited for the lock may have an older view of the run.
    if duplicates.has(&duplicate.key, duplicate.side.word()) {
        guarded.refresh().map_err(said)?;
    }
    let other = |kept: &DuplicateCall| kept.run == run && is_open(&guarded.run, kept);
    let taken = duplicates.take(&duplicate.key, duplicate.side.word(), other);
    if taken.map_err(said)?.is_some() && guarded.run.paused.is_none() {
        return Ok(Say::Nothing.into());
    }
    let before = guarded.run.seq;
    let answer = judge(guarded)?;
    if !matches!(
        answer.say,
        Say::Nothing | Say::Allow(_) | Say::Rewrite { .. }
    ) {
        return Ok(answer);
    }
    let id = match &input.event {
        Event::BeforeTool(used) => used.id.as_ref(),
        _ => None,
    };
    let allowed = guarded
        .run
        .calls
        .iter()
        .rfind(|call| call.begun_seq >= before && id.is_none_or(|id| call.id == *id));
    let left: Vec<DuplicateCall> = allowed
        .into_iter()
        .flat_map(|call| {
            let others = Side::ALL.into_iter().filter(|side| *side != duplicate.side);
            others.map(|side| DuplicateCall {
                run: run.clone(),
                call: call.id.clone(),
                entered_seq: call.entered_seq,
                key: duplicate.key.clone(),
                side: side.word().to_owned(),
            })
        })
        .collect();
    let alive = |kept: &DuplicateCall| kept.run == run && is_open(&guarded.run, kept);
    duplicates.leave(left, alive).map_err(said)?;
    Ok(answer)
}

/// Tells whether a call is still under way in the stay it was allowed in.
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
