//! The table of routes, from which requests are dispatched and the OpenAPI document is written.

use axum::http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use interlock_fleet::{
    AnswerBody, AuditHeads, BundleView, CodeBody, CommandBody, Decided, ErrorBody, EventPage,
    Health, Issuers, JobBody, Me, PageSignIn, PeopleBody, PeopleView, RunGraph, RunPage, RunView,
    SignInAddress, SignInBody, SignedIn, SnapshotView, StartBody, Started,
};

use super::audit;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Health,
    Ready,
    Document,
    Start,
    List,
    View,
    Snapshot,
    Command,
    Events,
    Answer,
    Bundle,
    Audit,
    ShowPeople,
    LoadPeople,
    Issuers,
    SignIn,
    ExchangeJob,
    PageSignIn,
    SignInCode,
    Me,
    Graph,
    AuditHeads,
}

impl Operation {
    /// Returns whether it is part of how a token is had, and needs none.
    pub(crate) const fn signs_in(self) -> bool {
        matches!(
            self,
            Self::Issuers | Self::SignIn | Self::ExchangeJob | Self::PageSignIn | Self::SignInCode
        )
    }
}

/// A route.
pub(crate) struct Route {
    pub(crate) operation: Operation,
    pub(crate) path: &'static str,
    /// The name of the operation.
    name: &'static str,
    summary: &'static str,
    request: Option<SchemaOf>,
    reply: Option<SchemaOf>,
    /// Its parameters in the query.
    query: &'static [(&'static str, &'static str)],
    /// The statuses of its errors.
    errors: &'static [u16],
}

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The statuses of errors that every route with a token has.
const COMMON: &[u16] = &[400, 401, 404, 405, 500, 503];
const POSTED: &[u16] = &[400, 401, 403, 404, 405, 409, 413, 415, 422, 500, 503, 507];

const SIGNED_IN: &[u16] = &[400, 401, 403, 404, 405, 409, 413, 415, 500, 503, 507];

pub(crate) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::Health,
        path: "/healthz",
        name: "health",
        summary: "Answers as long as the server runs.",
        request: None,
        reply: Some(of::<Health>),
        query: &[],
        errors: &[],
    },
    Route {
        operation: Operation::Ready,
        path: "/readyz",
        name: "ready",
        summary: "Answers whether the database can be read and written, as of the last second.",
        request: None,
        reply: Some(of::<Health>),
        query: &[],
        errors: &[503],
    },
    Route {
        operation: Operation::Document,
        path: "/v1/openapi.json",
        name: "openapi",
        summary: "Returns this document.",
        request: None,
        reply: None,
        query: &[],
        errors: &[],
    },
    Route {
        operation: Operation::Start,
        path: "/v1/runs",
        name: "startRun",
        summary: "Starts a run, for a person or a worker.",
        request: Some(of::<StartBody>),
        reply: Some(of::<Started>),
        query: &[],
        errors: POSTED,
    },
    Route {
        operation: Operation::List,
        path: "/v1/runs",
        name: "listRuns",
        summary: "Lists the runs of the token's tenant, the newest first.",
        request: None,
        reply: Some(of::<RunPage>),
        query: &[
            (
                "before",
                "The id after which the page begins: `next` of the previous page.",
            ),
            (
                "waiting",
                "1: only runs in which something waits for a person. A page may then have fewer runs, and still a next one.",
            ),
        ],
        errors: COMMON,
    },
    Route {
        operation: Operation::View,
        path: "/v1/runs/{run}",
        name: "getRun",
        summary: "Returns a run, and what waits for a person in it.",
        request: None,
        reply: Some(of::<RunView>),
        query: &[],
        errors: COMMON,
    },
    Route {
        operation: Operation::Snapshot,
        path: "/v1/runs/{run}/snapshot",
        name: "getSnapshot",
        summary: "Returns a run as a machine needs it to judge calls.",
        request: None,
        reply: Some(of::<SnapshotView>),
        query: &[],
        errors: COMMON,
    },
    Route {
        operation: Operation::Command,
        path: "/v1/runs/{run}/commands",
        name: "sendCommand",
        summary: "Has a command decided and recorded.",
        request: Some(of::<CommandBody>),
        reply: Some(of::<Decided>),
        query: &[],
        errors: POSTED,
    },
    Route {
        operation: Operation::Events,
        path: "/v1/runs/{run}/events",
        name: "getEvents",
        summary: "Returns events, and waits for them if there are none yet.",
        request: None,
        reply: Some(of::<EventPage>),
        query: &[
            ("from", "The number of the first event; 0 without it."),
            (
                "wait",
                "How many seconds to wait for an event, at most 60; 0 without it.",
            ),
            ("told", "1: each event with what it says, for people."),
        ],
        errors: COMMON,
    },
    Route {
        operation: Operation::Answer,
        path: "/v1/runs/{run}/answers",
        name: "answerRequest",
        summary: "Approves or rejects a request, for a person who neither started the run nor does its work.",
        request: Some(of::<AnswerBody>),
        reply: Some(of::<Decided>),
        query: &[],
        errors: POSTED,
    },
    Route {
        operation: Operation::Bundle,
        path: "/v1/bundles/current",
        name: "getBundle",
        summary: "Returns the signed workflows that runs of the tenant start from.",
        request: None,
        reply: Some(of::<BundleView>),
        query: &[],
        errors: &[400, 401, 404, 405, 409, 500, 503],
    },
    Route {
        operation: Operation::Audit,
        path: "/v1/audit",
        name: "getAudit",
        summary: "Returns what happened in the tenant as lines of JSON with a signed head, for a person.",
        request: None,
        reply: None,
        query: &[
            ("from", "The number of the first entry; 0 without it."),
            ("run", "The id of the only run whose entries are shown."),
        ],
        errors: &[400, 401, 403, 404, 405, 409, 500, 503],
    },
    Route {
        operation: Operation::AuditHeads,
        path: "/v1/audit/heads",
        name: "getAuditHeads",
        summary: "Returns the newest signed heads of the audit, for a person.",
        request: None,
        reply: Some(of::<AuditHeads>),
        query: &[],
        errors: &[400, 401, 403, 405, 500, 503],
    },
    Route {
        operation: Operation::Graph,
        path: "/v1/runs/{run}/graph",
        name: "getGraph",
        summary: "Returns the graph of a run, with where it stands and which way it took.",
        request: None,
        reply: Some(of::<RunGraph>),
        query: &[],
        errors: COMMON,
    },
    Route {
        operation: Operation::Me,
        path: "/v1/me",
        name: "getMe",
        summary: "Returns whose token it is, and what its holder may do.",
        request: None,
        reply: Some(of::<Me>),
        query: &[],
        errors: &[401, 403, 405, 500, 503],
    },
    Route {
        operation: Operation::ShowPeople,
        path: "/v1/people",
        name: "getPeople",
        summary: "Returns the policy that says who may start, approve and administer.",
        request: None,
        reply: Some(of::<PeopleView>),
        query: &[],
        errors: COMMON,
    },
    Route {
        operation: Operation::LoadPeople,
        path: "/v1/people",
        name: "loadPeople",
        summary: "Loads another policy, for a person who may administer.",
        request: Some(of::<PeopleBody>),
        reply: Some(of::<PeopleView>),
        query: &[],
        errors: POSTED,
    },
    Route {
        operation: Operation::Issuers,
        path: "/v1/sign-in",
        name: "getIssuers",
        summary: "Returns where the people of a tenant sign in.",
        request: None,
        reply: Some(of::<Issuers>),
        query: &[("tenant", "The tenant.")],
        errors: &[400, 405, 500],
    },
    Route {
        operation: Operation::SignIn,
        path: "/v1/sign-in",
        name: "signIn",
        summary: "Exchanges the ID token of a person for a token of the server.",
        request: Some(of::<SignInBody>),
        reply: Some(of::<SignedIn>),
        query: &[],
        errors: SIGNED_IN,
    },
    Route {
        operation: Operation::PageSignIn,
        path: "/v1/sign-in/page",
        name: "signInOnPage",
        summary: "Returns where the server's own page sends a person to sign in.",
        request: Some(of::<PageSignIn>),
        reply: Some(of::<SignInAddress>),
        query: &[],
        errors: SIGNED_IN,
    },
    Route {
        operation: Operation::SignInCode,
        path: "/v1/sign-in/code",
        name: "signInWithCode",
        summary: "Exchanges the code that an issuer has sent the page for a token of the server.",
        request: Some(of::<CodeBody>),
        reply: Some(of::<SignedIn>),
        query: &[],
        errors: SIGNED_IN,
    },
    Route {
        operation: Operation::ExchangeJob,
        path: "/v1/sign-in/job",
        name: "exchangeJob",
        summary: "Exchanges the ID token of a CI job for a token of one run.",
        request: Some(of::<JobBody>),
        reply: Some(of::<SignedIn>),
        query: &[],
        errors: SIGNED_IN,
    },
];

impl Route {
    /// Returns the method of its requests.
    pub(crate) fn method(&self) -> Method {
        match self.request {
            Some(_) => Method::POST,
            None => Method::GET,
        }
    }

    /// Returns whether its requests need a token.
    pub(crate) const fn takes_token(&self) -> bool {
        !matches!(
            self.operation,
            Operation::Health | Operation::Ready | Operation::Document
        ) && !self.operation.signs_in()
    }

    /// Describes it for the document.
    fn described(&self, generator: &mut SchemaGenerator) -> Value {
        let mut parameters = Vec::new();
        if self.path.contains("{run}") {
            parameters.push(json!({
                "name": "run", "in": "path", "required": true,
                "description": "The id of the run.", "schema": { "type": "string" },
            }));
        }
        for (name, description) in self.query {
            let kind = if matches!(*name, "before" | "run" | "tenant") {
                "string"
            } else {
                "integer"
            };
            parameters.push(json!({
                "name": name, "in": "query", "description": description, "schema": { "type": kind },
            }));
        }
        let mut described = json!({ "operationId": self.name, "summary": self.summary });
        let mut put = |key: &str, value: Value| {
            if let Some(fields) = described.as_object_mut() {
                fields.insert(key.to_owned(), value);
            }
        };
        if let Some(request) = self.request {
            let key = json!({
                "name": "Idempotency-Key", "in": "header", "required": true,
                "description": "A new key for each request, and the same one if the request is repeated.",
                "schema": { "type": "string", "minLength": 1, "maxLength": 200 },
            });
            parameters.extend(self.takes_token().then_some(key));
            put(
                "requestBody",
                json!({ "required": true, "content": content(request(generator)) }),
            );
        }
        put("parameters", Value::Array(parameters));
        let mut responses = Map::new();
        let schema = self.reply.map_or_else(
            || json!({ "type": "object" }),
            |reply| reply(generator).to_value(),
        );
        let form = match self.operation {
            Operation::Audit => audit::FORM,
            _ => "application/json",
        };
        responses.insert(
            "200".to_owned(),
            json!({ "description": "Done.", "content": { form: { "schema": schema } } }),
        );
        for status in self.errors {
            let schema = generator.subschema_for::<ErrorBody>();
            responses.insert(
                status.to_string(),
                json!({ "description": meaning(*status), "content": content(schema) }),
            );
        }
        put("responses", Value::Object(responses));
        if self.takes_token() {
            put("security", json!([{ "token": [] }]));
        }
        described
    }
}

fn content(schema: Schema) -> Value {
    json!({ "application/json": { "schema": schema } })
}

const fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request is malformed.",
        401 => "The token is missing, unknown, expired or revoked.",
        403 => "The token's role or its person may not do this.",
        404 => "The tenant has no such run, bundle or entry.",
        405 => "The address has another method.",
        409 => {
            "The key was used for another request, the epoch is stale, or there is no good bundle or signed head."
        }
        413 => "The body is too large.",
        415 => "The body is not JSON.",
        422 => "The workflow is invalid, or the request cannot be recorded.",
        503 => "The database or the server cannot answer now.",
        507 => "The database is full.",
        _ => "The server failed.",
    }
}

/// Returns the OpenAPI document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in ROUTES {
        let described = route.described(&mut generator);
        let path = paths
            .entry(route.path)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(methods) = path.as_object_mut() {
            let method = route.method().as_str().to_ascii_lowercase();
            methods.insert(method, described);
        }
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Interlock: the log of a team",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "In commands, answers, inputs and everything about one run, `@project`, `@run` and `@home` stand for places of a machine, and `@@` for `@`.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if let ("$ref", Some(to)) = (key.as_str(), value.as_str()) {
                        found.push(to.to_owned());
                    }
                    references(value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn the_document_has_every_route_and_every_schema_that_it_names() {
        let document = document();
        for route in ROUTES {
            let method = route.method().as_str().to_ascii_lowercase();
            let described = &document["paths"][route.path][&method];
            assert!(described["operationId"].is_string(), "{}", route.path);
            assert_eq!(described["security"].is_array(), route.takes_token());
        }
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 10, "{found:?}");
        for name in found {
            let pointer = name.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{name}");
        }
        let command = &document["components"]["schemas"]["CommandBody"];
        assert_eq!(command["required"], json!(["command"]));
    }
}
