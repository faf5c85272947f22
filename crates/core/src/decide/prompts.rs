//! Questions that a client asks in its own prompt, before the call that they are about.
//!
//! Such a question does not make a frame wait: the client itself holds the call until its person has answered. If the call
//! then arrives, the person has approved; anything else that the same agent does next shows that the person has not.

use super::{Answered, Reply, Work, decide, people::Asking};
use crate::{
    command::{Command, CommandKind, TransitionRequest},
    event::{About, ApprovalKind, Event, PendingTransition, VoidReason},
    machine::Machine,
    names::{AgentId, CallId, Digest, FramePath},
    parts::{PromptCall, PromptEnd},
    run::{Request, Run},
};

/// The question that a person would be asked before a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Path of the frame that would take the transition.
    pub path: FramePath,
    /// Message shown to the person.
    pub message: String,
    /// Digest of everything that an approval depends on.
    pub digest: Digest,
}

/// Returns the question that `request` would raise now; `None`: a client's prompt cannot answer it, or none is raised.
#[must_use]
pub fn question(machine: &Machine, run: &Run, request: &TransitionRequest) -> Option<Question> {
    let (path, transition, digest) = asked_by(machine, run, request, 0)?;
    Some(Question {
        path,
        message: transition.message,
        digest,
    })
}

/// Returns the pending transition of `request`, and everything that an approval would depend on.
fn asked_by(
    machine: &Machine,
    run: &Run,
    request: &TransitionRequest,
    at_ms: u64,
) -> Option<(FramePath, PendingTransition, Digest)> {
    let command = Command {
        at_ms,
        kind: CommandKind::Transition(request.clone()),
    };
    let decision = decide(machine, run, &command);
    // The last is the one that parks: a request asks for one transition.
    decision
        .events
        .into_iter()
        .rev()
        .find_map(|event| match event {
            Event::RequestOpened {
                path,
                about: About::Transition(transition),
                question,
                approval: ApprovalKind::Person,
                ..
            } => Some((path, transition, question)),
            _ => None,
        })
}

impl Work<'_> {
    /// Records that a client asks its person about a transition that needs an approval.
    pub(super) fn ask_in_prompt(
        &mut self,
        request: &TransitionRequest,
        asking: &PromptCall,
    ) -> Answered {
        self.open()?;
        let asked = asked_by(self.machine, &self.run, request, self.at_ms);
        let Some((path, transition, question)) = asked else {
            return Ok(Reply::Accepted);
        };
        self.path = path.clone();
        let message = transition.message.clone();
        let about = About::Transition(transition);
        let how = Asking {
            prompt: Some(asking.clone()),
            ..Asking::default()
        };
        let id = self.ask(&path, about, question, how);
        Ok(Reply::Pending { message, id })
    }

    /// Returns who approved exactly this question in a client's prompt, and the id of the request.
    ///
    /// The request must still be open, because a rejection in the meantime overrides the approval.
    pub(super) fn consent(
        &self,
        path: &FramePath,
        request: &TransitionRequest,
        question: &Digest,
    ) -> Option<(String, Request)> {
        let consent = request.approved_by.as_ref()?;
        if consent.question != *question {
            return None;
        }
        let open = self.run.requests.iter().find(|open| {
            let prompt = open.prompt.as_ref();
            open.transition().is_some()
                && open.path == *path
                && open.question == *question
                && prompt.is_some_and(|prompt| prompt.agent == request.agent)
        });
        Some((consent.by.clone(), open?.clone()))
    }

    /// Closes the requests in a client's own prompt that were not approved.
    pub(super) fn close_prompts(
        &mut self,
        session: &str,
        agent: Option<&AgentId>,
        call: Option<&CallId>,
        why: PromptEnd,
    ) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        let is_over = |prompt: &PromptCall, reads: bool| {
            let of_asker = why == PromptEnd::SessionOver || prompt.agent.as_ref() == agent;
            let ends = match why {
                // Calls that only read may run beside others of the same message.
                PromptEnd::NextCall => call != Some(&prompt.call) && !reads,
                PromptEnd::OtherArguments => call == Some(&prompt.call),
                PromptEnd::TurnOver | PromptEnd::SessionOver => true,
            };
            prompt.session == session && of_asker && ends
        };
        let (calls, transitions): (Vec<&Request>, Vec<&Request>) = (self.run.requests.iter())
            .filter(|request| {
                let reads = request.call().is_some_and(|grant| !grant.marks.writes);
                let prompt = request.prompt.as_ref();
                request.granted.is_none() && prompt.is_some_and(|prompt| is_over(prompt, reads))
            })
            .partition(|request| request.call().is_some());
        let over = transitions.into_iter().chain(calls);
        let over: Vec<Request> = over.cloned().collect();
        for request in over {
            self.void(&request, VoidReason::Prompt(why));
        }
        Ok(Reply::Accepted)
    }
}
