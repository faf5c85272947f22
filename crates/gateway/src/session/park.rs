//! Requests of the modern protocol that wait for an answer of their client.
//!
//! Such a request is answered with `input_required` and a state that identifies it here; the work continues when the client sends
//! the answer. The state cannot be guessed, and is valid once, for the same request, and for a limited time.

use std::{collections::HashMap, fmt, pin::Pin, sync::Arc, time::Duration};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{sync::mpsc, time::Instant};

use super::{Asking, Session, serve::invalid};
use crate::{
    message::{INTERNAL_ERROR, Outcome, Request},
    session::origin::{Need, Origin, OriginEvents},
};

/// How long a client may take to continue.
const WAIT_TIME: Duration = Duration::from_secs(15 * 60);
/// Maximum number of waiting requests in one session.
const WAITING_MAX: usize = 1_000;
/// Prefix of the gateway's own states; a server's state is passed on.
const PREFIX: &str = "interlock-state-";

type Future = Pin<Box<dyn std::future::Future<Output = Outcome> + Send>>;

/// Requests that wait for their client.
#[derive(Debug, Default)]
pub(super) struct Parking {
    parked: HashMap<String, WaitingRequest>,
}

/// A request that waits for its client.
struct WaitingRequest {
    work: Work,
    /// The questions, by the names they were given.
    needs: Vec<(String, Need)>,
    digest: String,
    until: Instant,
}

impl fmt::Debug for WaitingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parked")
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

/// A request that is being answered.
struct Work {
    future: Future,
    needed: mpsc::Receiver<Need>,
    /// The request as its servers know it.
    origin: Arc<Origin>,
}

impl Parking {
    /// Drops requests whose clients did not continue them.
    pub(super) fn expire(&mut self) {
        let now = Instant::now();
        self.parked.retain(|_, parked| parked.until > now);
    }
}

impl Session {
    /// Answers a request of the modern protocol, or continues one that waited.
    pub(super) async fn in_rounds(
        self: Arc<Self>,
        asking: Asking,
        request: Request,
        told: OriginEvents,
    ) -> Outcome {
        if !may_need_input(&request.method) {
            return self.respond(asking, request, Some(told)).await;
        }
        let digest = digest(&request);
        if let Some(state) = request
            .text("requestState")
            .filter(|state| state.starts_with(PREFIX))
        {
            let parked = self.state().parked.parked.remove(state);
            return match parked {
                Some(parked) if parked.digest == digest && parked.until > Instant::now() => {
                    self.resume(parked, &asking.origin, &request).await
                }
                Some(_) | None => invalid(
                    "`requestState` does not belong to a waiting request of this kind: start again",
                ),
            };
        }
        let origin = Arc::clone(&asking.origin);
        let session = Arc::clone(&self);
        let work = Work {
            future: Box::pin(async move { session.respond(asking, request, None).await }),
            needed: told.needs,
            origin,
        };
        self.go_on(work, digest).await
    }

    /// Delivers the answers of the client to the questions that wait for them.
    async fn resume(
        &self,
        parked: WaitingRequest,
        origin: &Arc<Origin>,
        request: &Request,
    ) -> Outcome {
        let WaitingRequest {
            work,
            needs,
            digest,
            ..
        } = parked;
        work.origin.replace_by(origin);
        let responses = request
            .params
            .as_ref()
            .and_then(|params| params.get("inputResponses"));
        let mut still = Vec::new();
        for (name, need) in needs {
            match responses.and_then(|responses| responses.get(&name)) {
                Some(response) => drop(need.answer.send(Outcome::result(response))),
                None => still.push((name, need)),
            }
        }
        if still.is_empty() {
            return self.go_on(work, digest).await;
        }
        self.park(work, still, digest)
    }

    /// Works on a request until it is answered or needs its client.
    async fn go_on(&self, mut work: Work, digest: String) -> Outcome {
        let need = tokio::select! {
            biased;
            reply = &mut work.future => return reply,
            Some(need) = work.needed.recv() => need,
        };
        let mut needs = vec![need];
        while let Ok(need) = work.needed.try_recv() {
            needs.push(need);
        }
        let named = (1..)
            .zip(needs)
            .map(|(number, need)| (format!("input-{number}"), need));
        self.park(work, named.collect(), digest)
    }

    /// Stores a request that waits for its client.
    fn park(&self, work: Work, needs: Vec<(String, Need)>, digest: String) -> Outcome {
        let mut requests = Object::new();
        for (name, need) in &needs {
            let mut request = Object::new();
            request.insert("method".to_owned(), json!(need.method));
            if let Some(params) = &need.params {
                request.insert("params".to_owned(), json!(params));
            }
            requests.insert(name.clone(), Value::Object(request));
        }
        let Some(name) = secret() else {
            return Outcome::error(
                INTERNAL_ERROR,
                "the system gives no random numbers, so the client cannot be asked",
            );
        };
        let mut state = self.state();
        state.parked.expire();
        if state.parked.parked.len() >= WAITING_MAX {
            let message =
                format!("{WAITING_MAX} requests wait for their client, which is the most");
            return Outcome::error(INTERNAL_ERROR, &message);
        }
        let parked = WaitingRequest {
            work,
            needs,
            digest,
            until: Instant::now() + WAIT_TIME,
        };
        state.parked.parked.insert(name.clone(), parked);
        Outcome::result(&json!({
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": name,
        }))
    }
}

/// Returns whether a method may answer that input is required.
fn may_need_input(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

/// Returns the digest of a request's contents, whoever sends it and however often.
fn digest(request: &Request) -> String {
    let mut params = request.params.clone().unwrap_or_default();
    for name in ["_meta", "inputResponses", "requestState"] {
        params.shift_remove(name);
    }
    let text = json!([request.method, params]).to_string();
    hex(&Sha256::digest(text))
}

/// Generates a name that cannot be guessed.
fn secret() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{PREFIX}{}", hex(&bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
