//! A call of a tool: decided, forwarded, and its end recorded.

use std::sync::Arc;

use interlock_core::machine::Object;
use serde_json::{Value, json};

use super::{Asking, Session, names::qualified, serve::invalid};
use crate::{
    era::Era,
    govern::{
        CallDecision, CallEnd, GatewayCall, Instead, ListedTool, OwnCall, PersonSaid, Question,
        Ticket,
    },
    governor_queue::{GovernorQueue, unavailable},
    message::{INTERNAL_ERROR, Id, Outcome, Request, raw},
    now_ms,
    session::{kept::Upstream, list_cache::Kind},
    tools::control_tool,
};

/// Maximum number of questions to a person about one call.
const QUESTIONS_MAX: usize = 8;

/// The tool of a server that a call is for.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) upstream: Arc<Upstream>,
    /// The server's own name of the tool.
    name: String,
    shown: String,
    definition: Arc<Value>,
}

/// Result of the decision about a call.
enum Ruled {
    /// The call is allowed.
    Passes(Ticket),
    /// The call is answered here.
    Answered(Value),
}

impl Session {
    /// Answers a call of any tool.
    pub(super) async fn call(self: &Arc<Self>, asking: Asking, request: Request) -> Outcome {
        let Some(name) = request.text("name").map(str::to_owned) else {
            return invalid("`name` of `tools/call` must be a text");
        };
        let mut params = request.params.unwrap_or_default();
        if params
            .get("arguments")
            .is_some_and(|arguments| !arguments.is_object() && !arguments.is_null())
        {
            return invalid("`arguments` of `tools/call` must be an object");
        }
        if self.is_own(&name).await {
            return self.call_own(&asking, name, Arc::new(params)).await;
        }
        let target = match self.target(&asking, &name).await {
            Ok(target) => target,
            Err(outcome) => return outcome,
        };
        // The value that is sent is the one that was judged; it is not copied unless something still refers to it.
        let shared = Arc::new(params);
        let ticket = match self.rule(&asking, &target, &shared).await {
            Ruled::Passes(ticket) => ticket,
            Ruled::Answered(value) => {
                let outcome = Outcome::result(&value);
                return self.in_words_of(&asking.origin, "tools/call", outcome);
            }
        };
        params = Arc::unwrap_or_clone(shared);
        params.insert("name".to_owned(), json!(target.name));
        let mut passed = Passed::new(&self.governor, ticket);
        let reply = self
            .forward(&asking, &target.upstream, "tools/call", Some(params))
            .await;
        let Some(ticket) = passed.ticket.take() else {
            return reply;
        };
        match self.task_of(&reply, &asking, &target.upstream) {
            Some(task) => {
                self.hold(task, ticket);
                reply
            }
            None => self.end(&asking, ticket, reply).await,
        }
    }

    /// Records how a call ended, and returns what the client gets.
    pub(super) async fn end(
        self: &Arc<Self>,
        asking: &Asking,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Outcome {
        let asked = self.governor.ask(move |govern| {
            let end = match &outcome {
                Outcome::Result(result) => CallEnd::Result(result),
                Outcome::Error(error) => CallEnd::Error(error),
            };
            let replaced = govern.ended(&ticket, end, now_ms());
            (outcome, replaced, govern.changed())
        });
        // A result that could not be recorded is not passed on.
        let Some((outcome, replaced, changed)) = asked.await else {
            let outcome = Outcome::result(&unavailable());
            return self.in_words_of(&asking.origin, "tools/call", outcome);
        };
        if changed {
            self.moved(stream_of(asking)).await;
        }
        match replaced {
            Some(Instead::Result(value)) => {
                self.in_words_of(&asking.origin, "tools/call", Outcome::result(&value))
            }
            Some(Instead::Error(error)) => Outcome::Error(raw(&error)),
            None => outcome,
        }
    }

    async fn call_own(
        self: &Arc<Self>,
        asking: &Asking,
        name: String,
        params: Arc<Object>,
    ) -> Outcome {
        let asked = self.governor.ask(move |govern| {
            let none = Object::new();
            let call = OwnCall {
                arguments: arguments(&params, &none),
                meta: meta(&params),
                at_ms: now_ms(),
            };
            let ruling = govern.own_call(&name, &call);
            (ruling.ok_or(name), govern.changed())
        });
        let Some((ruling, changed)) = asked.await else {
            return self.in_words_of(
                &asking.origin,
                "tools/call",
                Outcome::result(&unavailable()),
            );
        };
        let ruling = match ruling {
            Ok(ruling) => ruling,
            Err(name) => return self.unknown(&name).await,
        };
        let ruled = self.settled(asking, ruling).await;
        if changed {
            self.moved(stream_of(asking)).await;
        } else {
            self.look_now(stream_of(asking)).await;
        }
        let value = match ruled {
            Ruled::Answered(value) => value,
            // An own tool is never forwarded.
            Ruled::Passes(_) => unavailable(),
        };
        self.in_words_of(&asking.origin, "tools/call", Outcome::result(&value))
    }

    /// Answers that no tool has the name.
    async fn unknown(&self, name: &str) -> Outcome {
        let own = self.own().await;
        let known = own
            .tools
            .iter()
            .filter_map(|tool| tool.get("name").and_then(Value::as_str));
        let known = known.collect::<Vec<_>>().join(", ");
        invalid(&format!(
            "no tool is called `{name}`; there are {known}, and what `tools/list` shows"
        ))
    }

    /// Finds the tool that a call is for.
    async fn target(&self, asking: &Asking, name: &str) -> Result<Target, Outcome> {
        let origin = &asking.origin;
        let Some(only) = asking.side.only() else {
            let Some(named) = self.named(Kind::Tools, asking, name).await else {
                return Err(match unasked(asking) {
                    Some(outcome) => outcome,
                    None => self.unknown(name).await,
                });
            };
            let definition = named
                .upstream
                .definition(Kind::Tools, &named.name, origin)
                .await;
            return Ok(Target {
                upstream: named.upstream,
                name: named.name,
                shown: named.shown,
                definition: definition.unwrap_or_default(),
            });
        };
        // A tool with the name of an own tool is shown with its server's prefix.
        let rest = name
            .strip_prefix(only.server.prefix())
            .and_then(|rest| rest.strip_prefix("__"));
        let real = rest
            .filter(|rest| control_tool(rest).is_some())
            .unwrap_or(name);
        let definition = only.definition(Kind::Tools, real, origin).await;
        Ok(Target {
            upstream: Arc::clone(only),
            name: real.to_owned(),
            shown: if real == name {
                name.to_owned()
            } else {
                qualified(only, real)
            },
            definition: definition.unwrap_or_default(),
        })
    }

    /// Asks whether a call may pass.
    async fn rule(&self, asking: &Asking, target: &Target, params: &Arc<Object>) -> Ruled {
        let (judged, params) = (target.clone(), Arc::clone(params));
        let asked = self.governor.ask(move |govern| {
            let none = Object::new();
            govern.call(&GatewayCall {
                tool: ListedTool {
                    server: &judged.upstream.server.name,
                    name: &judged.name,
                    shown: &judged.shown,
                    definition: &judged.definition,
                },
                arguments: arguments(&params, &none),
                meta: meta(&params),
                request_state: params.get("requestState"),
                answers_input: params.get("inputResponses").is_some_and(Value::is_object),
                at_ms: now_ms(),
            })
        });
        match asked.await {
            Some(ruling) => self.settled(asking, ruling).await,
            None => Ruled::Answered(unavailable()),
        }
    }

    /// Asks a person as long as the decision requires it.
    async fn settled(&self, asking: &Asking, mut ruling: CallDecision) -> Ruled {
        for _ in 0..QUESTIONS_MAX {
            let question = match ruling {
                CallDecision::Pass(ticket) => return Ruled::Passes(ticket),
                CallDecision::Answer(value) => return Ruled::Answered(value),
                CallDecision::Ask(question) => question,
            };
            if !asking.origin.introduced.can_show_forms() {
                return Ruled::Answered(question.unasked);
            }
            let mut open = Open::new(&self.governor, &question);
            let params = form(&question, asking.origin.era);
            let said = self
                .ask_client(asking, "elicitation/create", Some(params))
                .await;
            let said = person_said(said.as_ref());
            let Some(key) = open.key.take() else {
                return Ruled::Answered(question.unasked);
            };
            let asked = self
                .governor
                .ask(move |govern| govern.answered(&key, &said, now_ms()));
            let Some(next) = asked.await else {
                return Ruled::Answered(unavailable());
            };
            ruling = next;
        }
        Ruled::Answered(unavailable())
    }
}

/// Reports servers that could not be asked for their tools; returns `None` if all were asked.
fn unasked(asking: &Asking) -> Option<Outcome> {
    let upstreams = asking.side.upstreams.iter();
    let down = upstreams.filter(|upstream| {
        upstream.live_now().is_none() && !upstream.list_cache(Kind::Tools).is_whole()
    });
    let down: Vec<String> = down.map(|upstream| upstream.server.label()).collect();
    (!down.is_empty()).then(|| {
        let message = format!(
            "which tool is meant is not known while {} cannot be asked; it is being restarted",
            down.join(" and ")
        );
        Outcome::error(INTERNAL_ERROR, &message)
    })
}

/// Returns the stream in which a change caused by a call is announced.
fn stream_of(asking: &Asking) -> Option<Id> {
    (asking.origin.era == Era::Legacy).then(|| asking.origin.id())
}

fn arguments<'a>(params: &'a Object, none: &'a Object) -> &'a Object {
    params
        .get("arguments")
        .and_then(Value::as_object)
        .unwrap_or(none)
}

fn meta(params: &Object) -> Option<&Object> {
    params.get("_meta").and_then(Value::as_object)
}

/// Returns the form for a question to a person; its key stays here.
fn form(question: &Question, era: Era) -> Object {
    let mut params = Object::new();
    if era == Era::Modern {
        params.insert("mode".to_owned(), json!("form"));
    }
    params.insert("message".to_owned(), json!(question.message));
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "May it go on?",
                "enum": ["yes", "no"],
            },
            "note": {
                "type": "string",
                "title": "Note",
                "description": "If you reject it: what the agent should do instead.",
            },
        },
        "required": ["answer"],
    });
    params.insert("requestedSchema".to_owned(), schema);
    params
}

/// Parses a person's answer; anything unclear counts as no answer.
fn person_said(outcome: Option<&Outcome>) -> PersonSaid {
    let Some(Outcome::Result(result)) = outcome else {
        return PersonSaid::Nothing;
    };
    let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let content = |name: &str| {
        result
            .pointer(&format!("/content/{name}"))
            .and_then(Value::as_str)
    };
    let no = || PersonSaid::No {
        note: content("note").unwrap_or_default().to_owned(),
    };
    match (
        result.get("action").and_then(Value::as_str),
        content("answer"),
    ) {
        (Some("accept"), Some("yes")) => PersonSaid::Yes,
        (Some("accept"), Some("no")) | (Some("decline"), _) => no(),
        _ => PersonSaid::Nothing,
    }
}

/// An open question; dropping it closes the question without an answer.
struct Open {
    governor: GovernorQueue,
    key: Option<String>,
}

impl Open {
    fn new(governor: &GovernorQueue, question: &Question) -> Self {
        Self {
            governor: governor.clone(),
            key: Some(question.key.clone()),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.governor.tell(move |govern| {
                govern.answered(&key, &PersonSaid::Nothing, now_ms());
            });
        }
    }
}

/// An allowed call; dropping it records that its end is unknown.
struct Passed {
    governor: GovernorQueue,
    ticket: Option<Ticket>,
}

impl Passed {
    fn new(governor: &GovernorQueue, ticket: Ticket) -> Self {
        let told = ticket.call.is_some() || ticket.bytes_max.is_some();
        Self {
            governor: governor.clone(),
            ticket: told.then_some(ticket),
        }
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.governor.tell(move |govern| {
                govern.ended(&ticket, CallEnd::Unknown, now_ms());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_plain_yes_is_one() {
        let no = |note: &str| PersonSaid::No {
            note: note.to_owned(),
        };
        let nothing = PersonSaid::Nothing;
        for (told, wanted) in [
            (
                json!({"action": "accept", "content": {"answer": "yes"}}),
                PersonSaid::Yes,
            ),
            (
                json!({"action": "accept", "content": {"answer": "no", "note": "tests first"}}),
                no("tests first"),
            ),
            (
                json!({"action": "accept", "content": {"answer": "no"}}),
                no(""),
            ),
            (json!({"action": "decline"}), no("")),
            (
                json!({"action": "decline", "content": {"answer": "yes"}}),
                no(""),
            ),
            (json!({"action": "cancel"}), nothing.clone()),
            (
                json!({"action": "cancel", "content": {"answer": "yes"}}),
                nothing.clone(),
            ),
            (json!({"content": {"answer": "yes"}}), nothing.clone()),
            (
                json!({"action": "accepted", "content": {"answer": "yes"}}),
                nothing.clone(),
            ),
            (json!({"action": "accept"}), nothing.clone()),
            (json!({"action": "accept", "content": {}}), nothing.clone()),
            (
                json!({"action": "accept", "content": {"answer": "Yes"}}),
                nothing.clone(),
            ),
            (
                json!({"action": "accept", "content": {"answer": true}}),
                nothing.clone(),
            ),
            (
                json!({"action": "accept", "answer": "yes"}),
                nothing.clone(),
            ),
        ] {
            let outcome = Outcome::result(&told);
            assert_eq!(person_said(Some(&outcome)), wanted, "{told}");
        }
        assert_eq!(person_said(None), nothing);
        let failed = Outcome::error(INTERNAL_ERROR, "yes");
        assert_eq!(person_said(Some(&failed)), nothing);
    }
}
