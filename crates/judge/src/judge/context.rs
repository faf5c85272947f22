//! The context that a call is judged in, and the approval that it may use.

use super::JudgeContext;
use crate::{
    call::{CallKind, ToolCall},
    machine::Machine,
    names::FramePath,
    run::{Frame, Request, Run},
};

/// Builds the context for a call in the frame at `path`; `None`: the run has no such frame.
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
    /// Returns whether a request about exactly this call, in the frame at `path`, is open.
    #[must_use]
    pub fn is_asked(&self, path: &FramePath) -> bool {
        self.run.requests.iter().any(|request| {
            request.granted.is_none() && is_for(request, self.frame, path, self.call)
        })
    }
}

/// Finds the approval that `call` may use.
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

/// Returns whether a request is about exactly this call, from the same agent.
fn is_for(request: &Request, frame: &Frame, path: &FramePath, call: &ToolCall) -> bool {
    let asked = request.call().map(|grant| &grant.call);
    request.path == *path
        && request.entered_seq == frame.stay.entered_seq
        && asked.is_some_and(|asked| asked.digest == call.digest && asked.agent == call.agent)
}

/// Returns whether a person has approved the request and the approval is still valid.
///
/// An approval of a shell line becomes invalid when a file is written, because the line may then run other code than
/// the person looked at.
fn is_good_for(run: &Run, request: &Request, call: &ToolCall) -> bool {
    request.granted.as_ref().is_some_and(|yes| {
        call.kind != CallKind::Shell || run.last_write.is_none_or(|write| write < yes.seq)
    })
}
