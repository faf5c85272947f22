//! Questions that a client's person is asked, and what their answer brings.
//!
//! INVARIANT: a question is asked only where the one who answers cannot be the
//! agent: through the process that the agent's client itself has started. Its
//! key leads to the one request of the run that it is about, and to nothing else.

use std::collections::VecDeque;

use interlock_core::{
    Decision, Reply,
    call::ToolCall,
    command::{Answer as Word, Ask},
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

/// Questions of one session that wait at most; older ones are left to other channels.
const WAITING_MAX: usize = 64;
/// Characters of a question's data that are shown.
const DATA_CHARS_MAX: usize = 600;
/// Characters of a person's note that are kept.
const NOTE_CHARS_MAX: usize = 2_000;

/// A request to a person, asked through this session.
#[derive(Debug, Clone)]
pub(super) struct PersonRequest {
    key: String,
    pub(super) run: RunId,
    pub(super) id: ApprovalId,
    pub(super) about: About,
    /// What the agent is told where nobody answers.
    pub(super) unasked: Value,
}

/// What a question is about.
#[derive(Debug, Clone)]
pub(super) enum About {
    /// A transition that waits.
    Transition {
        /// Its event.
        event: String,
    },
    /// A call that waits, to be proposed again.
    Call {
        /// The call.
        call: Box<ToolCall>,
        /// Whether its tool promises structured content.
        has_schema: bool,
    },
}

/// The questions of one session that wait.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: VecDeque<PersonRequest>,
}

impl Questions {
    /// Keeps a question and returns the key to it, which nobody guesses.
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

    /// Takes the question that a key leads to; it leads nowhere afterwards.
    pub(super) fn take(&mut self, key: &str) -> Option<PersonRequest> {
        let at = self.waiting.iter().position(|asked| asked.key == key)?;
        self.waiting.remove(at)
    }
}

/// Tells whether this session's client may be asked: whether its person, and not the agent, answers.
pub(super) fn may_ask(
    settings: &Settings,
    who: &Caller,
    noted: &Noted,
    over_http: bool,
) -> Result<bool, StoreError> {
    if *who != Caller::Stdio {
        // Whoever holds the address may have it from the agent's own files.
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
    // So does a gateway.
    let gateways = home.gateway_processes(alive)?;
    let mut pids = settings.ancestors.iter().map(|process| process.pid);
    Ok(!pids.any(|pid| gateways.contains(&pid)))
}

/// Writes what a person is asked about a transition.
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

/// Writes what a person is asked about a call.
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

/// Gives a person's yes or no to the run; `None`: they gave neither.
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
        PersonSaid::Yes => Ask::Approve(word),
        _ => Ask::Reject(word),
    };
    live.ask(at_ms, ask).map(Some)
}

/// Says to the agent what became of a transition that a person was asked about.
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

/// Says to the agent that a person said no to a call.
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
        format!("a person said no to {what}{note}"),
    )
}
