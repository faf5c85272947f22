//! Questions to the client's person, and the handling of the answers.

use interlock_core::{call::ToolCall, names::RunId, pending::pending, refusal::Code, run::Request};
use serde_json::Value;

use super::Governor;
use crate::{
    control::{Incoming, Noted, Parking},
    govern::{
        CallDecision, PersonSaid, Question,
        asking::{self, About},
    },
    refused::{Refused, Word},
};

impl Governor {
    /// Puts a pending transition to the client's person, if that person may answer it.
    pub(super) fn ask_about_transition(
        &mut self,
        parking: Parking,
        unasked: Value,
        incoming: &Incoming,
    ) -> Result<CallDecision, Refused> {
        if !asking::may_ask(&self.settings, &self.who, &parking.noted, self.over_http)? {
            return Ok(CallDecision::Answer(unasked));
        }
        let live = self.opened.live(&parking.run)?;
        let waiting = pending(&live.machine, &live.run);
        if waiting
            .iter()
            .any(|one| one.id() == parking.id && one.takes_passkey())
        {
            // A question of a client carries no assertion.
            return Ok(CallDecision::Answer(unasked));
        }
        let data = incoming.arguments.get("data").unwrap_or(&Value::Null);
        let live = self.opened.live(&parking.run)?;
        let message = asking::about_transition(live, &parking.event, &parking.message, data);
        let about = About::Transition {
            event: parking.event,
        };
        let (run, id) = (parking.run, parking.id);
        let key = self.questions.ask(run, id, about, unasked.clone())?;
        Ok(CallDecision::Ask(Question {
            message,
            key,
            unasked,
        }))
    }

    /// Puts a call that needs a grant to the client's person, if that person may answer it.
    pub(super) fn ask_about_call(
        &mut self,
        run: &RunId,
        call: ToolCall,
        has_schema: bool,
        (noted, unasked): (&Noted, Value),
    ) -> Result<CallDecision, Refused> {
        let live = self.opened.live(run)?;
        let mut waiting = live.run.requests.iter().filter(|request| {
            let asked = request.call().map(|grant| &grant.call);
            request.granted.is_none()
                && asked
                    .is_some_and(|asked| asked.digest == call.digest && asked.agent == call.agent)
        });
        let id = waiting.next_back().map(Request::id);
        let message = asking::about_call(live, &call);
        let may = asking::may_ask(&self.settings, &self.who, noted, self.over_http)?;
        let Some(id) = id.filter(|_| may) else {
            return Ok(CallDecision::Answer(unasked));
        };
        let about = About::Call {
            call: Box::new(call),
            has_schema,
        };
        let key = self
            .questions
            .ask(run.clone(), id, about, unasked.clone())?;
        Ok(CallDecision::Ask(Question {
            message,
            key,
            unasked,
        }))
    }

    /// Decides again after a person answered, or did not want to.
    pub(super) fn rule_again(
        &mut self,
        key: &str,
        said: &PersonSaid,
        at_ms: u64,
    ) -> Result<CallDecision, Refused> {
        let Some(asked) = self.questions.take(key) else {
            return Err(Refused::new(
                Word::Engine(Code::NothingPending),
                "nothing waits for this answer: it was given already, or never asked here",
            ));
        };
        let person = self.settings.person.clone();
        let live = self.opened.live(&asked.run)?;
        let Some(decision) = asking::tell(live, &asked, said, &person, at_ms)? else {
            return Ok(CallDecision::Answer(asked.unasked));
        };
        match asked.about {
            About::Transition { event } => {
                let answer = asking::transition_answer(live, &event, said, &decision);
                Ok(CallDecision::Answer(answer.into_result()))
            }
            About::Call { call, .. } if *said != PersonSaid::Yes => {
                let answer = asking::call_denied(live, &call, said, &decision);
                Ok(CallDecision::Answer(answer.into_result()))
            }
            About::Call {
                mut call,
                has_schema,
            } => {
                call.id = self.next_id();
                // Nobody is asked twice: without a grant, the call is refused.
                let noted = Noted::default();
                self.propose(&asked.run, *call, has_schema, (at_ms, &noted, false))
            }
        }
    }
}
