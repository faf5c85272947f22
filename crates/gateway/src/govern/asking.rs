//! Questions to a client's person, and the effects of the answers.
//!
//! INVARIANT: a question is asked only if the agent cannot be the one who answers: through the process that the agent's client
//! itself has started. Its key identifies the one request of the run that it is about, and nothing else.

use std::collections::VecDeque;

use interlock_core::{
    Decision, Reply,
    call::ToolCall,
    command::{Answer as Word, CommandKind},
    names::{ApprovalId, RunId},
    refusal::Code,
};
use interlock_facts::one_line;
use interlock_store::{ClientProcess, StoreError};
use serde_json::Value;

use super::{Caller, PersonSaid};
use crate::{
    answer::{Answer, RunReply},
    control::Noted,
    live::Live,
    settings::Settings,
};

/// Maximum number of open questions of one session; older ones are left to other channels.
const WAITING_MAX: usize = 64;
/// Maximum number of characters shown of a question's data.
const DATA_CHARS_MAX: usize = 600;
/// Maximum number of characters kept of a person's note.
const NOTE_CHARS_MAX: usize = 2_000;

/// A request to a person, asked through this session.
#[derive(Debug, Clone)]
pub(super) struct PersonRequest {
    key: String,
    pub(super) run: RunId,
    pub(super) id: ApprovalId,
    pub(super) about: About,
    /// What the agent is told if nobody answers.
    pub(super) unasked: Value,
}

/// Subject of a question.
#[derive(Debug, Clone)]
pub(super) enum About {
    /// A pending transition.
    Transition {
        /// Event of the transition.
        event: String,
    },
    /// A pending call, to be proposed again.
    Call {
        /// The call.
        call: Box<ToolCall>,
        /// Whether its tool declares structured content.
        has_schema: bool,
    },
}

/// The open questions of one session.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: VecDeque<PersonRequest>,
}

impl Questions {
    /// Stores a question and returns its key, which nobody can guess.
    pub(super) fn ask(
        &mut self,
        run: RunId,
        id: ApprovalId,
        about: About,
        unasked: Value,
    ) -> Result<String, StoreError> {
        let key = interlock_store::random_word()?;
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(PersonRequest {
            key: key.clone(),
            run,
            id,
            about,
            unasked,
        });
        Ok(key)
    }

    /// Removes and returns the question of a key, which is invalid afterwards.
    pub(super) fn take(&mut self, key: &str) -> Option<PersonRequest> {
        let at = self.waiting.iter().position(|asked| asked.key == key)?;
        self.waiting.remove(at)
    }
}

/// Returns whether this session's client may be asked: whether its person, not the agent, answers.
pub(super) fn may_ask(
    settings: &Settings,
    who: &Caller,
    noted: &Noted,
    over_http: bool,
) -> Result<bool, StoreError> {
    if *who != Caller::Stdio {
        // A process that knows the address may have it from the agent's own files.
        return Ok(over_http);
    }
    let client = settings.ancestors.first();
    if noted.is_there() {
        return Ok(noted.is_of(client) && noted.is_attended());
    }
    // No hook saw the call. A guarded client further up means that its agent started this process.
    let home = &settings.environment.home;
    let alive = |process| interlock_clients::process::look(process).is_some();
    let above = |process: &ClientProcess| settings.ancestors.contains(process);
    for binding in home.bound_sessions()? {
        let binding = binding?;
        if binding.process.as_ref().is_some_and(above) && binding.process.as_ref() != client {
            return Ok(false);
        }
    }
    // The same holds for a gateway.
    let gateways = home.gateway_processes(alive)?;
    let mut pids = settings.ancestors.iter().map(|process| process.pid);
    Ok(!pids.any(|pid| gateways.contains(&pid)))
}

/// Writes the question to a person about a transition.
pub(super) fn about_transition(live: &Live, event: &str, message: &str, data: &Value) -> String {
    let data = match data {
        Value::Object(object) if !object.is_empty() => {
            let text = serde_json::to_string(object).unwrap_or_default();
            format!(" The agent sends: {}", one_line(&text, DATA_CHARS_MAX))
        }
        _ => String::new(),
    };
    let message = message.trim_end();
    format!(
        "Interlock: the agent asks for `{event}` in run {} of `{}` ({}). {message}{data} May it go on?",
        live.id(),
        live.machine.id,
        live.standing(),
    )
}

/// Writes the question to a person about a call.
pub(super) fn about_call(live: &Live, call: &ToolCall) -> String {
    format!(
        "Interlock: `{}` is not allowed where run {} of `{}` stands ({}). The agent asks for this one call: {} May it be made, once?",
        call.tool,
        live.id(),
        live.machine.id,
        live.standing(),
        one_line(&call.summary, DATA_CHARS_MAX)
    )
}

/// Sends a person's approval or rejection to the run; returns `None` if it was neither.
pub(super) fn tell(
    live: &mut Live,
    asked: &PersonRequest,
    said: &PersonSaid,
    person: &str,
    at_ms: u64,
) -> Result<Option<Decision>, StoreError> {
    let note = match said {
        PersonSaid::Nothing => return Ok(None),
        PersonSaid::Yes => None,
        PersonSaid::No { note } => Some(note.trim()).filter(|note| !note.is_empty()),
    };
    let word = Word {
        by: format!("{person} (elicitation)"),
        note: note.map(|note| note.chars().take(NOTE_CHARS_MAX).collect()),
        path: Some(asked.id.to_string()),
        ..Word::default()
    };
    let ask = match said {
        PersonSaid::Yes => CommandKind::Approve(word),
        _ => CommandKind::Reject(word),
    };
    live.ask(at_ms, ask).map(Some)
}

/// Describes to the agent the outcome of a transition that a person was asked about.
pub(super) fn transition_answer(
    live: &Live,
    event: &str,
    said: &PersonSaid,
    decision: &Decision,
) -> Answer {
    let mut told = RunReply {
        message: String::new(),
        events: &decision.events,
        focus: Some(&decision.path),
    };
    match (&decision.reply, said) {
        (Reply::Refused(refusal) | Reply::Ask(refusal), _) => Answer::no(live, refusal, &told),
        (_, PersonSaid::Yes) => {
            told.message = live.brought_about(&decision.events, &format!("`{event}` taken"));
            Answer::of_run(live, &told)
        }
        _ => Answer::no(live, &no(&format!("`{event}`"), said), &told),
    }
}

/// Tells the agent that a person rejected a call.
pub(super) fn call_denied(
    live: &Live,
    call: &ToolCall,
    said: &PersonSaid,
    decision: &Decision,
) -> Answer {
    let told = RunReply {
        message: String::new(),
        events: &decision.events,
        focus: Some(&decision.path),
    };
    match &decision.reply {
        Reply::Refused(refusal) | Reply::Ask(refusal) => Answer::no(live, refusal, &told),
        _ => Answer::no(
            live,
            &no(&format!("this call of `{}`", call.tool), said),
            &told,
        ),
    }
}

fn no(what: &str, said: &PersonSaid) -> interlock_core::refusal::Refusal {
    let note = match said {
        PersonSaid::No { note } if !note.trim().is_empty() => {
            format!(": {}", one_line(note.trim(), NOTE_CHARS_MAX))
        }
        _ => String::new(),
    };
    interlock_core::refusal::Refusal::new(
        Code::GrantDenied,
        format!("a person rejected {what}{note}"),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_once_and_the_oldest_give_way() {
        let mut questions = Questions::default();
        let mut ask = |number: usize| {
            let about = About::Transition {
                event: number.to_string(),
            };
            let id = ApprovalId::new(number.to_string());
            questions
                .ask(RunId::new("run"), id, about, Value::Null)
                .unwrap()
        };
        let keys: Vec<String> = (0..WAITING_MAX + 2).map(&mut ask).collect();
        for (number, key) in keys.iter().enumerate() {
            let taken = questions.take(key).map(|asked| asked.id.to_string());
            let wanted = (number >= 2).then(|| number.to_string());
            assert_eq!(taken, wanted, "question {number}");
            assert!(
                questions.take(key).is_none(),
                "question {number}, a second time"
            );
        }
    }
}
