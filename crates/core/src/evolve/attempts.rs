//! Changes an attempt of a model stage that is under way.

use crate::{
    attempt::{CallStatus, StageAttempt},
    names::{CallId, FramePath},
    run::Run,
};

/// Changes the attempt at `path`, if one is under way there.
pub(super) fn act(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut StageAttempt)) {
    let progress = run
        .frame_mut(path)
        .and_then(|frame| frame.stay.stage_attempt_mut());
    if let Some(progress) = progress {
        change(progress);
    }
}

/// Notes what became of a call of the last message.
pub(super) fn set_status(run: &mut Run, path: &FramePath, id: &CallId, status: CallStatus) {
    act(run, path, |progress| {
        if let Some(call) = progress.calls.iter_mut().find(|call| call.id == *id) {
            call.status = status;
        }
    });
}

/// Counts the time that a person was waited for.
pub(super) fn waited(run: &mut Run, path: &FramePath, ms: u64) {
    act(run, path, |progress| {
        progress.waited_ms = progress.waited_ms.saturating_add(ms);
    });
}
