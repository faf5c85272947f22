//! What a call is judged by, and the yes that it may use up.

use super::JudgeContext;
use crate::{
    call::{CallKind, ToolCall},
    machine::Machine,
    names::FramePath,
    run::{Frame, Grant, Run},
};

/// Lays out what a call in the frame at `path` is judged by; `None`: the run has no such place.
pub(crate) fn context_of<'a>(
    machine: &'a Machine,
    run: &'a Run,
    call: &'a ToolCall,
    path: &FramePath,
) -> Option<JudgeContext<'a>> {
    let frame = run.frame(path)?;
    let state = machine
        .called(frame.machine.as_ref())?
        .states
        .get(&frame.at)?;
    Some(JudgeContext {
        machine,
        run,
        frame,
        state,
        call,
        granted: granted(run, frame, path, call).is_some(),
    })
}

/// Finds the yes that `call` may use up.
pub(crate) fn granted<'r>(
    run: &'r Run,
    frame: &Frame,
    path: &FramePath,
    call: &ToolCall,
) -> Option<&'r Grant> {
    run.grants.iter().find(|grant| {
        is_for(grant, frame, path, call)
            && grant.granted_by.is_some()
            && still_good(run, grant, call)
    })
}

/// Tells whether a grant is for exactly this call, by the one who asked.
pub(crate) fn is_for(grant: &Grant, frame: &Frame, path: &FramePath, call: &ToolCall) -> bool {
    // Logs that do not say when something was asked do not say who asked.
    let asker = grant.asked.is_none() || grant.agent == call.agent;
    grant.path == *path
        && grant.entered_seq == frame.stay.entered_seq
        && grant.digest == call.digest
        && asker
}

/// A yes to a shell line is void once a file was written: the line may run other text than was looked at.
fn still_good(run: &Run, grant: &Grant, call: &ToolCall) -> bool {
    let written = run.last_write.zip(grant.granted_seq);
    call.kind != CallKind::Shell || written.is_none_or(|(write, yes)| write < yes)
}
