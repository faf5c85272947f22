//! Dispatches each method to a part of a session.

use std::sync::Arc;

use interlock_core::{machine::Object, visible::visible};
use serde_json::{Value, json};

use super::{Asking, Session};
use crate::{
    era::{Era, result_to_modern},
    govern::{Reading, ReadingOf},
    governor_queue::unread,
    message::{INVALID_PARAMS, METHOD_NOT_FOUND, Notification, Outcome, Request},
    now_ms,
    session::origin::{Origin, OriginEvents},
    session::peer::Tag,
    session::{kept::Upstream, list_cache::Kind},
};

/// How a method is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Ping,
    Discover,
    Listen,
    ListTools,
    CallTool,
    /// A list in pages: the field with the entries, and the capability.
    List(&'static str, &'static str),
    ListPrompts,
    GetPrompt,
    Resource,
    Subscribe,
    Unsubscribe,
    Complete,
    LogLevel,
    Task,
    Unknown,
}

/// Readings, which are not calls of tools.
#[derive(Debug, Clone)]
pub(super) enum Read {
    Resource(String),
    Prompt(String, Value),
}

/// Methods that are not simply forwarded.
const METHODS: [(&str, Method); 19] = [
    ("ping", Method::Ping),
    ("server/discover", Method::Discover),
    ("subscriptions/listen", Method::Listen),
    ("tools/list", Method::ListTools),
    ("tools/call", Method::CallTool),
    ("prompts/list", Method::ListPrompts),
    ("prompts/get", Method::GetPrompt),
    ("resources/list", Method::List("resources", "resources")),
    (
        "resources/templates/list",
        Method::List("resourceTemplates", "resources"),
    ),
    ("resources/read", Method::Resource),
    ("resources/subscribe", Method::Subscribe),
    ("resources/unsubscribe", Method::Unsubscribe),
    ("completion/complete", Method::Complete),
    ("logging/setLevel", Method::LogLevel),
    ("tasks/list", Method::List("tasks", "tasks")),
    ("tasks/get", Method::Task),
    ("tasks/result", Method::Task),
    ("tasks/update", Method::Task),
    ("tasks/cancel", Method::Task),
];

/// Methods of the legacy protocol that the modern one no longer has.
const REMOVED: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

fn known(method: &str) -> Method {
    let found = METHODS.iter().find(|(name, _)| *name == method);
    found.map_or(Method::Unknown, |(_, known)| *known)
}

/// Returns the first error that says more than that a server lacks the method; if there is none, the first one.
fn first_specific(kept: Option<Outcome>, reply: Outcome) -> Outcome {
    let says_more = |outcome: &Outcome| outcome.error_code() != Some(METHOD_NOT_FOUND);
    match kept {
        Some(kept) if says_more(&kept) || !says_more(&reply) => kept,
        _ => reply,
    }
}

/// Returns the method that `method` is spelled almost like; a lenient server would accept it as that one.
fn imitated(method: &str) -> Option<&'static str> {
    let letters = |text: &str| -> String {
        let seen = interlock_tool_names::looks(text);
        seen.chars().filter(char::is_ascii_alphanumeric).collect()
    };
    let spelled = letters(method);
    let near = METHODS
        .iter()
        .find(|(name, _)| *name != method && letters(name) == spelled);
    near.map(|(name, _)| *name)
}

impl Session {
    /// Answers any request.
    pub(super) async fn answer(
        self: Arc<Self>,
        asking: Option<Asking>,
        request: Request,
        told: OriginEvents,
    ) -> Outcome {
        let Some(asking) = asking else {
            let outcome = match request.method.as_str() {
                "initialize" => self.initialize(request).await,
                "ping" => Outcome::result(&json!({})),
                _ => uninitialized(),
            };
            return outcome;
        };
        match asking.origin.era {
            Era::Legacy if request.method == "initialize" => again(),
            Era::Legacy => self.respond(asking, request, Some(told)).await,
            Era::Modern => self.in_rounds(asking, request, told).await,
        }
    }

    /// Answers a request whose client is known.
    pub(super) async fn respond(
        self: &Arc<Self>,
        asking: Asking,
        request: Request,
        told: Option<OriginEvents>,
    ) -> Outcome {
        let modern = asking.origin.era == Era::Modern;
        if modern && REMOVED.contains(&request.method.as_str()) {
            return not_found(&request.method);
        }
        match known(&request.method) {
            Method::Ping if !modern => Outcome::result(&json!({})),
            Method::Discover if modern => self.discover(&asking).await,
            Method::Listen if modern => match told {
                Some(told) => self.listen(asking, request, told).await,
                None => not_found(&request.method),
            },
            Method::ListTools => self.list_named(Kind::Tools, &asking, request).await,
            Method::ListPrompts => self.list_prompts(asking, request).await,
            Method::CallTool => self.call(asking, request).await,
            Method::GetPrompt => self.get_prompt(&asking, request).await,
            Method::List(field, capability) => {
                self.list_pages(&asking, request, (field, capability)).await
            }
            Method::Resource => self.with_resource(&asking, request).await,
            Method::Subscribe if !modern => self.subscribe(&asking, request).await,
            Method::Unsubscribe if !modern => self.unsubscribe(&asking, request).await,
            Method::Complete => self.complete(&asking, request).await,
            Method::LogLevel if !modern => self.set_log_level(&asking, request).await,
            Method::Task => self.with_task(&asking, request).await,
            _ => self.pass_on(&asking, request).await,
        }
    }

    /// Forwards an unknown request: to the only server, or else to the one that knows it.
    pub(super) async fn pass_on(&self, asking: &Asking, request: Request) -> Outcome {
        if let Some(meant) = imitated(&request.method) {
            let message = format!(
                "there is no method `{}`: it is called `{meant}`",
                visible(&request.method)
            );
            return Outcome::error(METHOD_NOT_FOUND, &message);
        }
        let servers = asking.side.upstreams.clone();
        let unknown = |outcome: &Outcome| outcome.error_code() == Some(METHOD_NOT_FOUND);
        self.first_of(asking, &servers, request, None, unknown)
            .await
    }

    /// Asks the policy before something is read; returns `Some` if it is refused.
    pub(super) async fn unread(&self, server: &Upstream, reading: &Read) -> Option<Outcome> {
        let (server, reading) = (server.server.name.clone(), reading.clone());
        let asked = self.governor.ask(move |govern| {
            govern.read(&Reading {
                server: &server,
                of: match &reading {
                    Read::Resource(uri) => ReadingOf::Resource(uri),
                    Read::Prompt(name, arguments) => ReadingOf::Prompt(name, arguments),
                },
                at_ms: now_ms(),
            })
        });
        // No answer is not a permission.
        let not_read = asked.await.unwrap_or_else(|| Some(unread()))?;
        Some(Outcome::error_with(
            INVALID_PARAMS,
            &not_read.message,
            &not_read.data,
        ))
    }

    /// Asks one server after the other until one does not decline.
    pub(super) async fn first_of(
        &self,
        asking: &Asking,
        servers: &[Arc<Upstream>],
        request: Request,
        reading: Option<&Read>,
        declined: impl Fn(&Outcome) -> bool,
    ) -> Outcome {
        let Some((end, before)) = servers.split_last() else {
            return not_found(&request.method);
        };
        let mut kept = None;
        for server in before {
            if let Some(outcome) = self.unread_of(server, reading).await {
                return outcome;
            }
            let reply = self.forward_copy(asking, server, &request).await;
            if !declined(&reply) {
                return reply;
            }
            kept = Some(first_specific(kept, reply));
        }
        if let Some(outcome) = self.unread_of(end, reading).await {
            return outcome;
        }
        let reply = self
            .forward(asking, end, &request.method, request.params)
            .await;
        if declined(&reply) {
            first_specific(kept, reply)
        } else {
            reply
        }
    }

    pub(super) async fn unread_of(
        &self,
        server: &Upstream,
        reading: Option<&Read>,
    ) -> Option<Outcome> {
        self.unread(server, reading?).await
    }

    async fn set_log_level(&self, asking: &Asking, request: Request) -> Outcome {
        let level = request.text("level").map(str::to_owned);
        *asking.side.level() = level;
        let mut last = None;
        for server in &asking.side.upstreams {
            let Ok(live) = server.live().await else {
                continue;
            };
            if live.era == Era::Modern || (asking.side.only().is_none() && !live.can("logging")) {
                continue;
            }
            let params = request.params.clone();
            let reply = self
                .forward(asking, server, &request.method, params.clone())
                .await;
            if matches!(reply, Outcome::Result(_)) {
                server.wish_logged(params.unwrap_or_default());
            }
            last = Some(reply);
        }
        last.unwrap_or_else(|| Outcome::result(&json!({})))
    }

    /// Passes on a notification of the client.
    pub(super) async fn told(self: &Arc<Self>, notification: Notification) {
        let Notification { method, params } = notification;
        // A server that acts on notifications would act without a verdict.
        if method == "initialize" || known(&method) != Method::Unknown {
            return;
        }
        let legacy = self.state().legacy.clone();
        if method == "notifications/progress" {
            return self.progress(params).await;
        }
        let side = match legacy {
            Some(side) => side,
            // In the modern protocol, clients only notify of cancellations.
            None => return,
        };
        for upstream in &side.upstreams {
            if method == "notifications/initialized" {
                upstream.tell_initialized(params.clone()).await;
            } else if let Some(live) = upstream.live_now()
                && live.era == Era::Legacy
            {
                let envelope = crate::message::Envelope::notification(&method, params.clone());
                live.peer.send(envelope).await.ok();
            }
        }
    }

    /// Passes on the client's progress with a server's request.
    async fn progress(&self, params: Option<Object>) {
        let mut params = params.unwrap_or_default();
        let token = params
            .get("progressToken")
            .and_then(crate::message::Id::from_value);
        if let Some(Tag::Asked(server, Some(token))) =
            token.and_then(|token| self.client.tag(&token))
        {
            params.insert("progressToken".to_owned(), token);
            let envelope =
                crate::message::Envelope::notification("notifications/progress", Some(params));
            server.send(envelope).await.ok();
        }
    }

    /// Adapts an own answer to the protocol of the requester.
    pub(super) fn in_words_of(&self, origin: &Origin, method: &str, outcome: Outcome) -> Outcome {
        match (origin.era, outcome) {
            (Era::Modern, Outcome::Result(result)) => {
                Outcome::Result(result_to_modern(method, result))
            }
            (_, outcome) => outcome,
        }
    }
}

pub(super) fn not_found(method: &str) -> Outcome {
    Outcome::error(METHOD_NOT_FOUND, &format!("nobody here answers `{method}`"))
}

pub(super) fn invalid(message: &str) -> Outcome {
    Outcome::error(INVALID_PARAMS, message)
}

fn uninitialized() -> Outcome {
    invalid(&format!(
        "it is not known who asks: send `initialize` first, or `{}` and `{}` in `_meta`",
        crate::era::VERSION_KEY,
        crate::era::CAPABILITIES_KEY
    ))
}

fn again() -> Outcome {
    Outcome::error(
        crate::message::INVALID_REQUEST,
        "the session is initialized already",
    )
}

/// Returns a text parameter by its name.
pub(super) fn text<'a>(params: Option<&'a Object>, name: &str) -> Option<&'a str> {
    params?.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::imitated;

    #[test]
    fn a_method_that_is_spelled_nearly_as_a_judged_one_is_not_passed_on() {
        for (method, meant) in [
            ("tools/call", None),
            ("tools/call ", Some("tools/call")),
            ("Tools/Call", Some("tools/call")),
            ("tools/ca\u{200b}ll", Some("tools/call")),
            ("t\u{43e}ols/call", Some("tools/call")),
            ("tools//call", Some("tools/call")),
            ("resources/read\n", Some("resources/read")),
            ("vendor/call", None),
            ("tools/calls", None),
        ] {
            assert_eq!(imitated(method), meant, "{method:?}");
        }
    }
}
