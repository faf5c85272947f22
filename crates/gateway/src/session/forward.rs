//! Forwards a request to one server, in the protocol of that server.

use std::sync::{Arc, MutexGuard, PoisonError};

use interlock_core::machine::Object;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{Asking, Session, Side, put_token, take_token};
use crate::{
    asks::{self, Asker},
    era::{Era, LOG_KEY, request_to_legacy, result_to_legacy},
    fields::Fields,
    message::{INTERNAL_ERROR, Outcome, Request},
    session::kept::{Live, Upstream},
    session::peer::Tag,
};

/// How often one request may ask for more input.
const ROUNDS_MAX: usize = 32;

impl Side {
    /// The log level that a client of the legacy protocol wants.
    pub(super) fn level(&self) -> MutexGuard<'_, Option<String>> {
        self.log_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Forwards a request to a server and returns its answer.
    pub(super) async fn forward(
        &self,
        asking: &Asking,
        upstream: &Arc<Upstream>,
        method: &str,
        params: Option<Object>,
    ) -> Outcome {
        let work = async {
            let live = match upstream.live().await {
                Ok(live) => live,
                Err(outcome) => return outcome,
            };
            match (asking.origin.era, live.era) {
                (Era::Legacy, Era::Legacy) => send(asking, upstream, &live, method, params).await,
                (Era::Modern, Era::Modern) => {
                    let outcome = send(asking, upstream, &live, method, params).await;
                    asks::marked_result(&upstream.server.asker(), outcome)
                }
                (Era::Modern, Era::Legacy) => {
                    self.set_level_for(asking, upstream, &live).await;
                    let params = request_to_legacy(params);
                    let outcome = send(asking, upstream, &live, method, params).await;
                    self.in_words_of(&asking.origin, method, outcome)
                }
                (Era::Legacy, Era::Modern) => {
                    self.forward_in_rounds(asking, upstream, &live, method, params)
                        .await
                }
            }
        };
        let Some(time) = upstream.server.timeout else {
            return work.await;
        };
        timeout(time, work).await.unwrap_or_else(|_| {
            let message = format!(
                "{} did not answer within {} ms, which is its `timeout_ms`",
                upstream.server.label(),
                time.as_millis()
            );
            Outcome::away(&message)
        })
    }

    /// Forwards a copy of a request, if another server may have to be asked as well.
    pub(super) async fn forward_copy(
        &self,
        asking: &Asking,
        upstream: &Arc<Upstream>,
        request: &Request,
    ) -> Outcome {
        self.forward(asking, upstream, &request.method, request.params.clone())
            .await
    }

    /// Asks the client for the input that a server of the modern protocol needs before it answers.
    async fn forward_in_rounds(
        &self,
        asking: &Asking,
        upstream: &Arc<Upstream>,
        live: &Arc<Live>,
        method: &str,
        params: Option<Object>,
    ) -> Outcome {
        let mut more = Object::new();
        for _ in 0..ROUNDS_MAX {
            let mut whole = params.clone().unwrap_or_default();
            whole.extend(std::mem::take(&mut more));
            let mut whole = asking.origin.introduced.to_meta(Some(whole));
            let level = asking.side.level().clone();
            if let (Some(level), Some(Value::Object(meta))) = (level, whole.get_mut("_meta")) {
                meta.insert(LOG_KEY.to_owned(), json!(level));
            }
            let reply = send(asking, upstream, live, method, Some(whole)).await;
            let Outcome::Result(result) = &reply else {
                return reply;
            };
            let wanted = Fields::of(result)
                .filter(|fields| fields.text("resultType").as_deref() == Some("input_required"))
                .map(|fields| (fields.value("inputRequests"), fields.value("requestState")));
            let Some((requests, state)) = wanted else {
                return match reply {
                    Outcome::Result(result) => Outcome::Result(result_to_legacy(result)),
                    reply => reply,
                };
            };
            let Some(Value::Object(requests)) = requests.or_else(|| Some(json!({}))) else {
                return Outcome::error(
                    INTERNAL_ERROR,
                    "`inputRequests` of the server is not an object",
                );
            };
            let asker = upstream.server.asker();
            match self.gather_inputs(asking, &asker, requests).await {
                Ok(responses) => more.insert("inputResponses".to_owned(), Value::Object(responses)),
                Err(outcome) => return outcome,
            };
            if let Some(state) = state {
                more.insert("requestState".to_owned(), state);
            }
        }
        Outcome::error(
            INTERNAL_ERROR,
            &format!("the server asked for more {ROUNDS_MAX} times and did not answer"),
        )
    }

    /// Puts a server's questions to a client of the legacy protocol.
    async fn gather_inputs(
        &self,
        asking: &Asking,
        asker: &Asker,
        requests: Object,
    ) -> Result<Map<String, Value>, Outcome> {
        let mut responses = Map::new();
        for (key, request) in requests {
            let method = request
                .get("method")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !asking.origin.introduced.answers(method) {
                let message =
                    format!("the server needs `{method}` of the client, which did not declare it");
                return Err(Outcome::error(INTERNAL_ERROR, &message));
            }
            let params = request.get("params").and_then(Value::as_object).cloned();
            let params = match asks::marked(asker, method, params.clone()) {
                Ok(marked) => marked.or(params),
                Err(refused) => return Err(refused),
            };
            match self.ask_client(asking, method, params).await {
                Some(Outcome::Result(result)) => {
                    let value = serde_json::from_str(result.get()).unwrap_or_default();
                    responses.insert(key, value);
                }
                // Nobody answered a form: the server learns this.
                _ if method == asks::ELICITATION => {
                    responses.insert(key, json!({"action": "cancel"}));
                }
                Some(outcome) => return Err(outcome),
                None => return Err(Outcome::error(INTERNAL_ERROR, "the client is gone")),
            }
        }
        Ok(responses)
    }

    /// Asks the client something while its request is open; returns `None` if nobody answers.
    pub(super) async fn ask_client(
        &self,
        asking: &Asking,
        method: &str,
        params: Option<Object>,
    ) -> Option<Outcome> {
        if asking.origin.era == Era::Modern {
            return asking.origin.need(method, params).await;
        }
        let mut flight = self.client.begin(Tag::Own);
        let about = Some(asking.origin.id());
        flight.send(method, params, about).await.ok()?;
        flight.reply().await.ok()
    }

    /// Sets the log level of a server of the legacy protocol for this request.
    async fn set_level_for(&self, asking: &Asking, upstream: &Arc<Upstream>, live: &Arc<Live>) {
        let Some(level) = &asking.origin.introduced.log_level else {
            return;
        };
        if live.can("logging") && !upstream.logs_at(level) {
            let params = Object::from_iter([("level".to_owned(), json!(level))]);
            upstream.wish_logged(params.clone());
            let asked = live
                .peer
                .request(Tag::Own, "logging/setLevel", Some(params));
            asked.await.ok();
        }
    }
}

/// Sends a request unchanged, except that its progress token is replaced.
async fn send(
    asking: &Asking,
    upstream: &Upstream,
    live: &Arc<Live>,
    method: &str,
    mut params: Option<Object>,
) -> Outcome {
    let mut flight = live.peer.begin(Tag::Origin(Arc::clone(&asking.origin)));
    asks::hide_from_request(upstream.server.asks, &mut params);
    if take_token(&mut params).is_some() {
        put_token(&mut params, json!(flight.number()));
    }
    if flight.send(method, params, None).await.is_err() {
        return upstream.gone(live);
    }
    match flight.reply().await {
        Ok(reply) => reply,
        Err(_) => upstream.gone(live),
    }
}
