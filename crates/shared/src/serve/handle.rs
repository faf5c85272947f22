//! Handles requests: who asks, what the body says, and what is answered.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use interlock_core::names::RunId;
use interlock_fleet::{AnswerBody, CommandBody, EventPage, Health, StartBody};
use interlock_store::record;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    audit,
    batch::{Answered, Submitted},
    bundles, graph, listed, origin, people,
    problem::{Problem, json, json_bytes},
    read,
    routes::{Operation, Route, document},
    sent, sign_in, start,
    state::{ServerState, digest},
};
use crate::{
    doctor::now_ms,
    error::SharedError,
    tokens::{Bearer, Identity, Role},
};

/// Maximum size of a body in bytes.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Time limit for receiving a body.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The longest key of a request.
const KEY_CHARS_MAX: usize = 200;
/// The longest time that a request waits for events.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often a request that waits looks for events that another server has appended.
const LOOK: Duration = Duration::from_secs(1);

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

pub(crate) type Handled = Result<Response, Problem>;

/// Handles a request to `route`.
pub(crate) async fn handle(
    State(state): State<Arc<ServerState>>,
    route: &'static Route,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    match answer(&state, route, &parts, body).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

/// Answers an address that does not exist.
pub(crate) async fn unknown_address() -> Response {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "there is no such address: `GET /v1/openapi.json` lists them",
    )
    .into_response()
}

/// Answers a method that an address does not have.
pub(crate) async fn unknown_method() -> Response {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "the address has another method: `GET /v1/openapi.json` lists them",
    )
    .into_response()
}

async fn answer(
    state: &Arc<ServerState>,
    route: &'static Route,
    parts: &Parts,
    body: Body,
) -> Handled {
    match route.operation {
        Operation::Health => return json(&Health { ok: true }),
        Operation::Document => return json(&document()),
        Operation::Ready => {
            reading(state, ServerState::ready).await?;
            return json(&Health { ok: true });
        }
        _ => {}
    }
    origin::check(&parts.headers)?;
    if route.operation.signs_in() {
        return sign_in::handle(state, route.operation, parts, body).await;
    }
    let identity = identify(state, &parts.headers).await?;
    let run = || {
        let run = run_of(route, parts)?;
        if identity.is_for(run.as_str()) {
            Ok(run)
        } else {
            Err(Problem::from(&SharedError::OneRun))
        }
    };
    match route.operation {
        Operation::ShowPeople => people::show(state, identity).await,
        Operation::Me => {
            let me = reading(state, move |state| people::me(state, &identity));
            json(&me.await?)
        }
        Operation::Graph => {
            let run = run()?;
            let graph = reading(state, move |state| {
                graph::graph(state, &identity.tenant, &run)
            });
            json(&graph.await?)
        }
        Operation::AuditHeads => {
            let heads = reading(state, move |state| audit::heads(state, &identity));
            json(&heads.await?)
        }
        Operation::List => {
            if identity.one_run.is_some() {
                return Err(Problem::from(&SharedError::OneRun));
            }
            let mut wanted = query(parts, &["before", "waiting"])?.into_iter();
            let before = wanted.next().flatten().map(RunId::new);
            let waiting = flag("waiting", wanted.next().flatten().as_deref())?;
            let page = reading(state, move |state| {
                listed::list(state, &identity.tenant, before.as_ref(), waiting)
            });
            json(&page.await?)
        }
        Operation::View => {
            let run = run()?;
            let view = reading(state, move |state| {
                read::view(state, &identity.tenant, &run)
            });
            Ok(json_bytes(view.await?))
        }
        Operation::Snapshot => {
            let run = run()?;
            let snapshot = reading(state, move |state| {
                read::snapshot(state, &identity.tenant, &run)
            });
            Ok(json_bytes(snapshot.await?))
        }
        Operation::Events => {
            let run = run()?;
            let mut wanted = query(parts, &["from", "wait", "told"])?.into_iter();
            let mut next = || wanted.next().flatten();
            let from = number(next().as_deref())?;
            let wait = Duration::from_secs(number(next().as_deref())?);
            let told = flag("told", next().as_deref())?;
            let page = follow(state, &identity, &run, (from, told), wait.min(WAIT_MAX));
            json(&page.await?)
        }
        Operation::Bundle => {
            let view = reading(state, move |state| bundles::view(state, &identity.tenant));
            json(&view.await?)
        }
        Operation::Audit => {
            let mut wanted = query(parts, &["from", "run"])?.into_iter();
            let from = number(wanted.next().flatten().as_deref())?;
            let run = wanted.next().flatten().map(RunId::new);
            audit::respond(state, &identity, (from, run)).await
        }
        _ => {
            let posted = Posted::read(route, identity, parts, body).await?;
            posted.answer(state, route).await
        }
    }
}

/// Runs work that waits for the database, within the limit for reading requests.
pub(crate) async fn reading<T: Send + 'static>(
    state: &Arc<ServerState>,
    work: impl FnOnce(&ServerState) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let permit = state.reads.acquire().await;
    let _permit = permit.map_err(|_| Problem::internal())?;
    blocking(state, work).await
}

async fn blocking<T: Send + 'static>(
    state: &Arc<ServerState>,
    work: impl FnOnce(&ServerState) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let state = Arc::clone(state);
    let done = tokio::task::spawn_blocking(move || work(&state)).await;
    done.unwrap_or_else(|_| Err(Problem::internal()))
}

/// Returns the holder of the request's token.
async fn identify(state: &Arc<ServerState>, headers: &HeaderMap) -> Result<Identity, Problem> {
    let refused = |message: &str| Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
    let text = one(headers, &header::AUTHORIZATION).and_then(|text| text.strip_prefix("Bearer "));
    let text = text.ok_or_else(|| {
        refused("no token: send `Authorization: Bearer TOKEN`; `interlock shared token create` makes one")
    })?;
    // One answer for an unknown tenant, an unknown token and a wrong secret.
    let unknown = || {
        refused(
            "the token is unknown, expired or revoked: `interlock shared token create` makes another",
        )
    };
    let bearer = Bearer::parse(text).ok_or_else(unknown)?;
    let found = reading(state, move |state| state.holder(&bearer)).await?;
    found
        .filter(|identity| identity.expires_ms > now_ms())
        .ok_or_else(unknown)
}

/// Reads a body of JSON that is at most so many bytes long; the text names the limit.
pub(super) async fn json_body(
    headers: &HeaderMap,
    body: Body,
    (bytes_max, shown): (usize, &str),
) -> Result<Bytes, Problem> {
    let kind = one(headers, &header::CONTENT_TYPE).map(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
    });
    if kind != Some(true) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        let message = "the body must be `application/json`";
        return Err(Problem::new(status, "not_json", message));
    }
    let read = timeout(BODY_TIME, to_bytes(body, bytes_max)).await;
    read.ok().and_then(Result::ok).ok_or_else(|| {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the body is cut off, or longer than {shown}"),
        )
    })
}

/// Returns the value of a header that occurs exactly once.
pub(crate) fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns the run that the address names.
fn run_of(route: &Route, parts: &Parts) -> Result<RunId, Problem> {
    let before = route.path.split("{run}").next().unwrap_or_default();
    let rest = parts.uri.path().strip_prefix(before).unwrap_or_default();
    let run = RunId::new(rest.split('/').next().unwrap_or_default());
    record::check_run_id(&run).map_err(|_| Problem::no_run())?;
    Ok(run)
}

/// Returns the values of the known keys of the query; other keys are refused.
pub(crate) fn query(parts: &Parts, known: &[&str]) -> Result<Vec<Option<String>>, Problem> {
    let mut values = vec![None; known.len()];
    let text = parts.uri.query().unwrap_or_default();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let place = known.iter().position(|known| *known == key);
        let place = place.and_then(|at| values.get_mut(at));
        let place = place.ok_or_else(|| {
            Problem::input(format!("the query takes only {}", known.join(" and ")))
        })?;
        if place.replace(value.to_owned()).is_some() {
            return Err(Problem::input(format!("`{key}` occurs twice in the query")));
        }
    }
    Ok(values)
}

fn number(text: Option<&str>) -> Result<u64, Problem> {
    let Some(text) = text else { return Ok(0) };
    // The database counts with 63 bits.
    let number = text.parse::<u32>().map(u64::from);
    number.map_err(|_| Problem::input("`from` and `wait` are whole numbers below 4294967296"))
}

/// Returns whether a query asks for something with `1`.
fn flag(name: &str, text: Option<&str>) -> Result<bool, Problem> {
    match text {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => Err(Problem::input(format!("`{name}` is 0 or 1"))),
    }
}

/// Returns events, after waiting for them.
async fn follow(
    state: &Arc<ServerState>,
    identity: &Identity,
    run: &RunId,
    from: (u64, bool),
    wait: Duration,
) -> Result<EventPage, Problem> {
    let page = || {
        let (tenant, run) = (identity.tenant.clone(), run.clone());
        reading(state, move |state| read::events(state, &tenant, &run, from))
    };
    let first = page().await?;
    if !first.events.is_empty() || wait.is_zero() {
        return Ok(first);
    }
    let permit = state.followers.try_acquire();
    let _permit = permit.map_err(|_| {
        Problem::unavailable(
            "too_many_followers",
            "too many requests wait for events: try again, or ask without `wait`",
        )
    })?;
    let until = Instant::now() + wait;
    loop {
        // Listening before the look, so that no append in between is missed for long.
        let queue = state.queue(&identity.tenant, run)?;
        let appended = queue.appended.notified();
        let page = page().await?;
        if !page.events.is_empty() || Instant::now() >= until {
            return Ok(page);
        }
        let _ = timeout_at(until.min(Instant::now() + LOOK), appended).await;
    }
}

/// A request with a key and a body.
struct Posted {
    identity: Identity,
    run: Option<RunId>,
    key: String,
    body: Vec<u8>,
}

impl Posted {
    async fn read(
        route: &'static Route,
        identity: Identity,
        parts: &Parts,
        body: Body,
    ) -> Result<Self, Problem> {
        let run = match route.operation {
            Operation::Start | Operation::LoadPeople => None,
            _ => Some(run_of(route, parts)?),
        };
        if run
            .as_ref()
            .is_some_and(|run| !identity.is_for(run.as_str()))
        {
            return Err(Problem::from(&SharedError::OneRun));
        }
        let is_plain = |key: &&str| {
            (1..=KEY_CHARS_MAX).contains(&key.len())
                && key.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let key = one(&parts.headers, &KEY).filter(is_plain).ok_or_else(|| {
            Problem::input(
                "send one `Idempotency-Key` of at most 200 letters, digits and signs: a new one for each request",
            )
        })?;
        // Two people or machines may choose the same key.
        let key = format!("{}:{}:{key}", identity.role.as_str(), identity.subject);
        let body = json_body(&parts.headers, body, (BODY_BYTES_MAX, "2 MiB")).await?;
        Ok(Self {
            identity,
            run,
            key,
            body: body.to_vec(),
        })
    }

    async fn answer(self, state: &Arc<ServerState>, route: &'static Route) -> Handled {
        if route.operation == Operation::LoadPeople {
            let loaded = reading(state, move |state| {
                people::load(state, &self.identity, &parsed(&self.body)?)
            });
            return json(&loaded.await?);
        }
        let name = self.run.as_ref().map_or("", RunId::as_str);
        let digest = digest(&self.identity, route.path, name, &self.body);
        let Some(run) = &self.run else {
            let started = reading(state, move |state| {
                let body: StartBody = parsed(&self.body)?;
                start::start(state, &self.identity, (&self.key, digest), &body)
            });
            return Ok(replied(started.await?));
        };
        // The place of a path is known only to its machine: here it stays a mark.
        let text = state.marks();
        let text = text.decode(&self.body).map_err(|_| start::bad_mark())?;
        let role = self.identity.role;
        let submitted = |drives, accepts, (epoch, seq), kind| Submitted {
            key: self.key.clone(),
            digest,
            subject: self.identity.subject.clone(),
            role,
            groups: self.identity.groups.clone(),
            drives,
            accepts,
            epoch,
            seq,
            kind,
        };
        let submitted = if route.operation == Operation::Answer {
            if role != Role::Person {
                return Err(Problem::role("only the token of a person answers"));
            }
            let body: AnswerBody = parsed(&text)?;
            submitted(
                false,
                true,
                (None, None),
                sent::answer(&body, &self.identity.subject),
            )
        } else {
            let CommandBody {
                command,
                epoch,
                seq,
            } = parsed(&text)?;
            if let Some(refusal) = sent::refusal(&command, role) {
                return Err(Problem::role(refusal));
            }
            let (drives, accepts) = (sent::drives(&command, role), sent::accepts(&command));
            let kind = sent::kind(&command, &self.identity);
            submitted(drives, accepts, (epoch, seq), kind)
        };
        let answered = state.submit(&self.identity.tenant, run, submitted).await?;
        Ok(replied(answered))
    }
}

pub(crate) fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let found = serde_json::from_slice(body);
    // Another reader may take the other value of a duplicate key.
    let found = found.and_then(|found| interlock_json::parse_unique(body).map(|_| found));
    found.map_err(|error| Problem::input(format!("the body is not what is wanted: {error}")))
}

fn replied(answered: Answered) -> Response {
    let mut response = json_bytes(answered.body);
    if answered.repeated {
        let value = HeaderValue::from_static("true");
        response.headers_mut().insert(REPLAYED, value);
    }
    response
}
