//! Changes an attempt of a model stage in progress.

use crate::{
    attempt::{CallStatus, StageAttempt},
    names::{CallId, FramePath},
    run::Run,
};

/// Changes the attempt at `path`, if one is in progress there.
pub(super) fn act(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut StageAttempt)) {
    let progress = run
        .frame_mut(path)
        .and_then(|frame| frame.stay.stage_attempt_mut());
    if let Some(progress) = progress {
        change(progress);
    }
}

/// Sets the status of a call of the last message.
pub(super) fn set_status(run: &mut Run, path: &FramePath, id: &CallId, status: CallStatus) {
    act(run, path, |progress| {
        if let Some(call) = progress.calls.iter_mut().find(|call| call.id == *id) {
            call.status = status;
        }
    });
}

/// Adds to the time spent waiting for people.
pub(super) fn waited(run: &mut Run, path: &FramePath, ms: u64) {
    act(run, path, |progress| {
        progress.waited_ms = progress.waited_ms.saturating_add(ms);
    });
}
