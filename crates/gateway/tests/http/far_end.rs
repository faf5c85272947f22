//! A scripted peer at the other end of a channel.

use std::sync::Arc;

use interlock_core::names::RunId;
use interlock_gateway::{
    channel::Channel,
    govern::Caller,
    message::{Envelope, Id, Message, Notification, Outcome, Request},
    serve::SessionFactory,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The only valid credential, and its run.
pub(crate) const CREDENTIAL: &str = "ilr_of_a_run";
pub(crate) const RUN: &str = "01jd0000000000000000000000";

/// Opens channels to the script, and reports what it received.
#[derive(Debug)]
pub(crate) struct Script {
    seen: mpsc::UnboundedSender<Seen>,
}

/// What the script received.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Opened(Caller),
    Asked(String, Value),
    Told(String, Value),
    Answered(Value),
    Closed,
}

impl Script {
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Seen>) {
        let (seen, see) = mpsc::unbounded_channel();
        (Arc::new(Self { seen }), see)
    }
}

impl SessionFactory for Script {
    fn open(&self, caller: &Caller) -> Result<Channel, String> {
        let (near, far) = Channel::pair();
        self.seen.send(Seen::Opened(caller.clone())).ok();
        tokio::spawn(play(far, self.seen.clone()));
        Ok(near)
    }

    fn run_of(&self, credential: &str) -> Result<Option<RunId>, String> {
        match credential {
            CREDENTIAL => Ok(Some(RunId::new(RUN))),
            "ilr_unreadable" => Err("the state directory cannot be read".to_owned()),
            _ => Ok(None),
        }
    }
}

async fn play(mut link: Channel, seen: mpsc::UnboundedSender<Seen>) {
    let mut waiting: Option<Id> = None;
    while let Some(envelope) = link.incoming.recv().await {
        let answers = match envelope.message {
            Message::Request(request) => {
                let params = request.params.clone().map_or(Value::Null, Value::Object);
                seen.send(Seen::Asked(request.method.clone(), params)).ok();
                answer(&request, &mut waiting)
            }
            Message::Notification(told) => {
                let params = told.params.clone().map_or(Value::Null, Value::Object);
                seen.send(Seen::Told(told.method.clone(), params)).ok();
                told_of(&told, &mut waiting)
            }
            Message::Response(response) => {
                let Outcome::Result(result) = response.outcome else {
                    continue;
                };
                let result: Value = serde_json::from_str(result.get()).unwrap();
                seen.send(Seen::Answered(result.clone())).ok();
                let asked = waiting.take();
                asked.map(|id| result_of(id, &result)).into_iter().collect()
            }
        };
        for envelope in answers {
            if link.outgoing.send(envelope).await.is_err() {
                break;
            }
        }
    }
    seen.send(Seen::Closed).ok();
}

fn result_of(id: Id, result: &Value) -> Envelope {
    Envelope::response(id, Outcome::result(result))
}

fn progress(id: &Id, number: u64) -> Envelope {
    let params = json!({"progressToken": "t", "progress": number});
    let params = params.as_object().cloned();
    Envelope::notification("notifications/progress", params).about(Some(id.clone()))
}

fn answer(request: &Request, waiting: &mut Option<Id>) -> Vec<Envelope> {
    let id = request.id.clone();
    let params = request.params.clone().unwrap_or_default();
    let name = params.get("name").and_then(Value::as_str);
    match (request.method.as_str(), name) {
        ("initialize", _) if params.contains_key("refuse") => {
            vec![Envelope::response(id, Outcome::error(-32_602, "refused"))]
        }
        ("initialize", _) => {
            let version = params["protocolVersion"].clone();
            vec![result_of(
                id,
                &json!({"protocolVersion": version, "capabilities": {}}),
            )]
        }
        ("tools/call", Some("echo")) => vec![result_of(id, &params["arguments"])],
        ("tools/call", Some("progress")) => vec![
            progress(&id, 1),
            progress(&id, 2),
            result_of(id, &json!({"done": true})),
        ],
        // Answered when the client sends `go`.
        ("tools/call", Some("wait")) => {
            let first = progress(&id, 1);
            *waiting = Some(id);
            vec![first]
        }
        ("tools/call", Some("hang")) => Vec::new(),
        ("tools/call", Some("ask")) => {
            let about = Some(id.clone());
            *waiting = Some(id);
            let params = json!({"message": "?"}).as_object().cloned();
            vec![Envelope::request(Id::from(77), "elicitation/create", params).about(about)]
        }
        ("tools/call", Some("flood")) => {
            let mut envelopes: Vec<Envelope> =
                (0..5_000).map(|number| progress(&id, number)).collect();
            envelopes.push(result_of(id, &json!({"done": true})));
            envelopes
        }
        ("tools/list", _) => {
            let marked = json!({"type": "string", "x-mcp-header": "Region"});
            let schema = json!({"type": "object", "properties": {"region": marked}});
            let tools = json!([{"name": "echo", "inputSchema": schema}]);
            vec![result_of(id, &json!({"tools": tools}))]
        }
        // Ended by its server at once.
        ("subscriptions/listen", _) if params.contains_key("ends") => {
            let subscribed = json!({"io.modelcontextprotocol/subscriptionId": id.to_value()});
            vec![result_of(id, &json!({"_meta": subscribed}))]
        }
        ("subscriptions/listen", _) => {
            let subscribed = json!({"io.modelcontextprotocol/subscriptionId": id.to_value()});
            let params = json!({"_meta": subscribed, "notifications": {}});
            let params = params.as_object().cloned();
            *waiting = Some(id.clone());
            let method = "notifications/subscriptions/acknowledged";
            vec![Envelope::notification(method, params).about(Some(id))]
        }
        ("server/discover", _) => {
            vec![result_of(id, &json!({"supportedVersions": ["2026-07-28"]}))]
        }
        ("error/capability", _) => {
            vec![Envelope::response(id, Outcome::error(-32_021, "cannot"))]
        }
        ("ping", _) => vec![result_of(id, &json!({}))],
        _ => vec![Envelope::response(
            id,
            Outcome::error(-32_601, "no such method"),
        )],
    }
}

fn told_of(told: &Notification, waiting: &mut Option<Id>) -> Vec<Envelope> {
    match told.method.as_str() {
        "notifications/go" => {
            let asked = waiting.take();
            asked
                .map(|id| result_of(id, &json!({"went": true})))
                .into_iter()
                .collect()
        }
        // A message that belongs to no request.
        "notifications/say" => vec![Envelope::notification(
            "notifications/message",
            told.params.clone(),
        )],
        _ => Vec::new(),
    }
}
