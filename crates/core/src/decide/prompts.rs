//! Questions that a client asks in a prompt of its own, before the call that they are about.
//!
//! Such a question parks nothing: the client itself holds the call until its person has
//! answered. The call's coming is the yes; whatever else who asked does next is none.

use super::{Answered, Reply, Work, decide};
use crate::{
    command::{Ask, Command, TransitionRequest},
    event::Event,
    machine::Machine,
    names::{AgentId, ApprovalId, CallId, Digest, FramePath},
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

/// Returns what a person would be asked if `request` came now; `None`: nothing.
#[must_use]
pub fn question(machine: &Machine, run: &Run, request: &TransitionRequest) -> Option<Question> {
    match requested(machine, run, request, 0)? {
        Event::ApprovalRequested {
            path,
            message,
            question: Some(digest),
            ..
        } => Some(Question {
            path,
            message,
            digest,
        }),
        _ => None,
    }
}

/// Returns the event with which `request` would wait for a person, if it would.
fn requested(
    machine: &Machine,
    run: &Run,
    request: &TransitionRequest,
    at_ms: u64,
) -> Option<Event> {
    let command = Command {
        at_ms,
        ask: Ask::Transition(request.clone()),
    };
    let decision = decide(machine, run, &command);
    // The last is the one that parks: a request asks for one transition.
    decision
        .events
        .into_iter()
        .rfind(|event| matches!(event, Event::ApprovalRequested { .. }))
}

impl Work<'_> {
    /// Records that a client asks its person about a transition, where one has to agree.
    pub(super) fn ask_in_prompt(
        &mut self,
        request: &TransitionRequest,
        asking: &PromptCall,
    ) -> Answered {
        self.open()?;
        let Some(mut event) = requested(self.machine, &self.run, request, self.at_ms) else {
            return Ok(Reply::Accepted);
        };
        let mut told = String::new();
        if let Event::ApprovalRequested {
            path,
            message,
            prompt,
            ..
        } = &mut event
        {
            self.path = path.clone();
            *prompt = Some(asking.clone());
            told.clone_from(message);
        }
        let id = ApprovalId::of(self.run.seq);
        self.emit(event);
        Ok(Reply::Parked { message: told, id })
    }

    /// Returns who said yes to exactly this question in a client's prompt, and to which request.
    ///
    /// The question must still be open: what was refused meanwhile is no yes.
    pub(super) fn consent(
        &self,
        path: &FramePath,
        request: &TransitionRequest,
        question: &Digest,
    ) -> Option<(String, ApprovalId)> {
        let consent = request.approved_by.as_ref()?;
        if consent.question != *question {
            return None;
        }
        let open = self.run.prompts.iter().find(|prompt| {
            let asked = prompt.parked.asked.as_ref();
            prompt.path == *path
                && prompt.prompt.agent == request.agent
                && asked.is_some_and(|asked| asked.question == *question)
        });
        Some((consent.by.clone(), open?.id()?))
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
        let transitions = self.run.prompts.iter().filter_map(|one| {
            let over = is_over(&one.prompt, false);
            over.then(|| Some((one.path.clone(), one.id()?))).flatten()
        });
        let calls = self.run.grants.iter().filter_map(|grant| {
            let prompt = grant.prompt.as_ref()?;
            let open = self.run.calls.iter().find(|open| open.id == prompt.call);
            let reads = open.is_some_and(|open| !open.marks.writes);
            let over = grant.granted_by.is_none() && is_over(prompt, reads);
            over.then(|| Some((grant.path.clone(), grant.asked.as_ref().map(Request::id)?)))
                .flatten()
        });
        let over: Vec<(FramePath, ApprovalId)> = transitions.chain(calls).collect();
        for (path, id) in over {
            self.emit(Event::PromptClosed {
                path,
                id,
                why,
                at_ms: self.at_ms,
            });
        }
        Ok(Reply::Accepted)
    }
}
