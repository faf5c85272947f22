//! Access control: checks host, origin, content type, process and bearer before a body is read.
//!
//! `Host` and `Origin` exclude other pages, the process excludes a guarded agent, and the bearer excludes everyone whom
//! the person has not admitted. A check that cannot be made counts as failed.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use interlock_store::ClientProcess;

use crate::{
    page,
    peer::{Agent, Connection, Peer},
    reply::{Problem, worded},
    shared::{Shared, now_ms},
};

/// Path of the API.
pub(crate) const API: &str = "/api/v1/";
/// Maximum number of characters of a refused request that are recorded.
const REQUEST_CHARS_MAX: usize = 200;
/// Paths that need no bearer, because they give one.
const OPEN: [&str; 2] = ["/api/v1/pair", "/api/v1/pair/finish"];

/// Checks a request, and handles it if it is admitted.
pub(crate) async fn admit(
    State(shared): State<Arc<Shared>>,
    Extension(connection): Extension<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let checked = check(&shared, connection, &parts).await;
    let mut response = match checked {
        Ok(asks) => {
            parts.extensions.insert(asks);
            worded(next.run(Request::from_parts(parts, body)).await)
        }
        Err(problem) => {
            let mut refused = problem.into_response();
            if refused.status() == StatusCode::FORBIDDEN {
                // A refused client must not use up a connection that the person's page needs.
                let close = HeaderValue::from_static("close");
                refused.headers_mut().insert(header::CONNECTION, close);
            }
            refused
        }
    };
    page::protect(response.headers_mut());
    response
}

/// The processes that own the connection of a request.
#[derive(Debug, Clone)]
pub(crate) struct Asks(pub(crate) Arc<[ClientProcess]>);

async fn check(
    shared: &Arc<Shared>,
    connection: Connection,
    parts: &Parts,
) -> Result<Asks, Problem> {
    check_place(shared.port, &parts.method, &parts.uri, &parts.headers)?;
    let request = format!("{} {}", parts.method, parts.uri.path());
    let request: String = request.chars().take(REQUEST_CHARS_MAX).collect();
    let peer = shared
        .blocking(move |shared| {
            match connection.peer(&shared.home, &shared.sessions, now_ms())? {
                Peer::Other(processes) => Ok(Ok(processes)),
                Peer::Agent(agent) => {
                    shared.report(&agent, &request);
                    Ok(Err(agent))
                }
            }
        })
        .await?;
    let asks = match peer {
        Ok(processes) => Asks(processes.into()),
        Err(Agent { run, pid, .. }) => {
            return Err(Problem::forbidden(
                "agent",
                format!(
                    "process {pid} runs below an agent that run `{run}` guards; a person has to do this elsewhere"
                ),
            ));
        }
    };
    let path = parts.uri.path();
    if !path.starts_with(API) || OPEN.contains(&path) {
        return Ok(asks);
    }
    match bearer(&parts.headers) {
        Some(bearer)
            if shared
                .pairings
                .is_good_for(bearer, &asks.0, counts_as_use(path)) =>
        {
            Ok(asks)
        }
        _ => Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "bearer",
            "this page is not let in, or no more: pair it again",
        )),
    }
}

/// Returns whether a request counts as use of the page; a stream alone does not.
fn counts_as_use(path: &str) -> bool {
    path != "/api/v1/stream"
}

/// Checks the host that a request addresses, and the page that sent it.
fn check_place(port: u16, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let own = format!("localhost:{port}");
    let refuse = |code: &str, message: &str| Err(Problem::forbidden(code, message));
    // An authority in the request target takes precedence over `Host`.
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str() != own)
        || one(headers, &header::HOST) != Some(&own)
    {
        return refuse(
            "host",
            "the `Host` of the request is not this console's: open the address that `interlock console` printed",
        );
    }
    let origin = headers.contains_key(header::ORIGIN);
    let is_get = method == Method::GET;
    if (origin || !is_get) && one(headers, &header::ORIGIN) != Some(&format!("http://{own}")) {
        return refuse(
            "origin",
            "the `Origin` of the request is not this console's page",
        );
    }
    if !uri.path().starts_with(API) {
        return if is_get {
            Ok(())
        } else {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            Err(Problem::new(status, "method", "pages are only read"))
        };
    }
    let site = header::HeaderName::from_static("sec-fetch-site");
    if one(headers, &site) != Some("same-origin") {
        return refuse(
            "site",
            "the request does not come from this console's page: `Sec-Fetch-Site` must be `same-origin`",
        );
    }
    if !is_get && one(headers, &header::CONTENT_TYPE) != Some("application/json") {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(
            status,
            "json",
            "the body must be `application/json`",
        ));
    }
    Ok(())
}

/// Returns the value of a header that occurs exactly once.
fn one<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    one(headers, &header::AUTHORIZATION)?.strip_prefix("Bearer ")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    /// Checks a request and returns the code of its refusal.
    fn checked(method: &str, path: &str, lines: &[(&'static str, &str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        let (method, uri) = (method.parse().unwrap(), path.parse().unwrap());
        check_place(4040, &method, &uri, &headers)
            .err()
            .map(|problem| problem.code)
    }

    const HOST: (&str, &str) = ("host", "localhost:4040");
    const ORIGIN: (&str, &str) = ("origin", "http://localhost:4040");
    const SITE: (&str, &str) = ("sec-fetch-site", "same-origin");
    const JSON: (&str, &str) = ("content-type", "application/json");

    #[test]
    fn only_its_own_host_is_answered() {
        assert_eq!(checked("GET", "/", &[HOST]), None);
        assert_eq!(checked("GET", "http://localhost:4040/", &[HOST]), None);
        for host in [
            "",
            "localhost",
            "localhost:4041",
            "localhost:80",
            "127.0.0.1:4040",
            "[::1]:4040",
            "evil.example:4040",
            "localhost.evil.example:4040",
            "LOCALHOST:4040",
            "localhost:4040 ",
            "a@localhost:4040",
        ] {
            let found = checked("GET", "/", &[("host", host)]);
            assert_eq!(found.as_deref(), Some("host"), "{host:?}");
        }
        assert_eq!(checked("GET", "/", &[]).as_deref(), Some("host"));
        assert_eq!(checked("GET", "/", &[HOST, HOST]).as_deref(), Some("host"));
        let elsewhere = checked("GET", "http://evil.example/", &[HOST]);
        assert_eq!(elsewhere.as_deref(), Some("host"));
    }

    #[test]
    fn a_page_that_only_listens_is_not_used() {
        assert!(!counts_as_use("/api/v1/stream"));
        assert!(counts_as_use("/api/v1/runs"));
    }

    #[test]
    fn only_its_own_page_may_ask() {
        let path = "/api/v1/pair";
        assert_eq!(checked("POST", path, &[HOST, ORIGIN, SITE, JSON]), None);
        assert_eq!(checked("GET", "/api/v1/runs", &[HOST, SITE]), None);
        let missing = checked("POST", path, &[HOST, SITE, JSON]);
        assert_eq!(missing.as_deref(), Some("origin"));
        for origin in [
            "null",
            "",
            "http://localhost",
            "http://localhost:3000",
            "https://localhost:4040",
            "http://127.0.0.1:4040",
            "http://evil.example",
            "http://localhost:4040/",
        ] {
            for (method, lines) in [
                ("POST", vec![HOST, ("origin", origin), SITE, JSON]),
                ("GET", vec![HOST, ("origin", origin), SITE]),
            ] {
                let found = checked(method, path, &lines);
                assert_eq!(found.as_deref(), Some("origin"), "{method} {origin:?}");
            }
        }
        let two = checked("POST", path, &[HOST, ORIGIN, ORIGIN, SITE, JSON]);
        assert_eq!(two.as_deref(), Some("origin"));
    }

    #[test]
    fn the_api_is_for_requests_of_the_page_with_json() {
        let path = "/api/v1/runs";
        for site in ["", "cross-site", "same-site", "none"] {
            let found = checked("GET", path, &[HOST, ("sec-fetch-site", site)]);
            assert_eq!(found.as_deref(), Some("site"), "{site:?}");
        }
        assert_eq!(checked("GET", path, &[HOST]).as_deref(), Some("site"));
        for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let found = checked("POST", path, &[HOST, ORIGIN, SITE, ("content-type", kind)]);
            assert_eq!(found.as_deref(), Some("json"), "{kind:?}");
        }
        assert_eq!(
            checked("POST", path, &[HOST, ORIGIN, SITE]).as_deref(),
            Some("json")
        );
        assert_eq!(
            checked("POST", "/", &[HOST, ORIGIN]).as_deref(),
            Some("method")
        );
        assert_eq!(
            checked("OPTIONS", path, &[HOST, SITE]).as_deref(),
            Some("origin")
        );
    }

    #[test]
    fn a_bearer_is_written_one_way() {
        let read = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("authorization", line.parse().unwrap());
            }
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(read(&["Bearer abc"]).as_deref(), Some("abc"));
        for wrong in [
            vec![],
            vec!["abc"],
            vec!["Basic abc"],
            vec!["Bearer a", "Bearer b"],
        ] {
            assert_eq!(read(&wrong), None, "{wrong:?}");
        }
    }
}
