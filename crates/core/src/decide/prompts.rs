//! Questions that a client asks in a prompt of its own, before the call that they are about.
//!
//! Such a question parks nothing: the client itself holds the call until its person has
//! answered. The call's coming is the yes; whatever else who asked does next is none.

use super::{Answered, Reply, Work, decide, people::Asking};
use crate::{
    command::{Command, CommandKind, TransitionRequest},
    event::{About, ApprovalKind, Event, PendingTransition, VoidReason},
    machine::Machine,
    names::{AgentId, CallId, Digest, FramePath},
    parts::{PromptCall, PromptEnd},
    run::{Request, Run},
};

/// What a person would be asked before a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The frame that would move.
    pub path: FramePath,
    /// What they are asked.
    pub message: String,
    /// Digest of all that a yes rests on.
    pub digest: Digest,
}

/// Returns what a person would be asked if `request` came now; `None`: nothing that a client's prompt can answer.
#[must_use]
pub fn question(machine: &Machine, run: &Run, request: &TransitionRequest) -> Option<Question> {
    let (path, transition, digest) = asked_by(machine, run, request, 0)?;
    Some(Question {
        path,
        message: transition.message,
        digest,
    })
}

/// Returns with what `request` would wait for a person, and all that a yes would rest on.
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
    /// Records that a client asks its person about a transition, where one has to agree.
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

    /// Returns who said yes to exactly this question in a client's prompt, and to which request.
    ///
    /// The question must still be open: what was refused meanwhile is no yes.
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

    /// Closes what a client asked in its prompt and was not answered with yes.
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
