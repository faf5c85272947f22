//! What a call is judged by, and the yes that it may use up.

use super::JudgeContext;
use crate::{
    call::{CallKind, ToolCall},
    machine::Machine,
    names::FramePath,
    run::{Frame, Request, Run},
};

/// Lays out what a call in the frame at `path` is judged by; `None`: the run has no such place.
#[must_use]
pub fn context_of<'a>(
    machine: &'a Machine,
    run: &'a Run,
    call: &'a ToolCall,
    path: &FramePath,
) -> Option<JudgeContext<'a>> {
    let frame = run.frame(path)?;
    let state = frame.state(machine)?;
    Some(JudgeContext {
        machine,
        run,
        frame,
        state,
        call,
        grant: granted(run, frame, path, call),
    })
}

impl JudgeContext<'_> {
    /// Tells whether a person is asked about exactly this call, in the frame at `path`, and has not answered.
    #[must_use]
    pub fn is_asked(&self, path: &FramePath) -> bool {
        self.run.requests.iter().any(|request| {
            request.granted.is_none() && is_for(request, self.frame, path, self.call)
        })
    }
}

/// Finds the yes that `call` may use up.
fn granted<'r>(
    run: &'r Run,
    frame: &Frame,
    path: &FramePath,
    call: &ToolCall,
) -> Option<&'r Request> {
    run.requests
        .iter()
        .find(|request| is_for(request, frame, path, call) && is_good_for(run, request, call))
}

/// Tells whether a request is for exactly this call, by the one who asked.
fn is_for(request: &Request, frame: &Frame, path: &FramePath, call: &ToolCall) -> bool {
    let asked = request.call().map(|grant| &grant.call);
    request.path == *path
        && request.entered_seq == frame.stay.entered_seq
        && asked.is_some_and(|asked| asked.digest == call.digest && asked.agent == call.agent)
}

/// Tells whether a person said yes and that still holds.
///
/// A yes to a shell line is void once a file was written: the line may run other text than was looked at.
fn is_good_for(run: &Run, request: &Request, call: &ToolCall) -> bool {
    request.granted.as_ref().is_some_and(|yes| {
        call.kind != CallKind::Shell || run.last_write.is_none_or(|write| write < yes.seq)
    })
}
