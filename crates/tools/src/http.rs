//! `http_request`.

use std::{
    future::Future,
    task::Poll,
    time::{Duration, SystemTime},
};

use interlock_http::retry_after;
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER},
};
use serde_json::Value;

use crate::{
    Code, Reply, ToolContext, ToolEnd,
    end::{Failure, length},
    input::{optional, text},
};

/// Maximum size of a response body, in bytes.
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Maximum number of bytes shown of the body of a failure.
const FAILED_BODY_BYTES: usize = 4_096;
/// Maximum number of redirects.
const REDIRECTS_MAX: usize = 10;
/// Default time limit in seconds.
const SECONDS: f64 = 60.0;
/// Headers that the connection itself sets.
const OWN_HEADERS: [&str; 7] = [
    "connection",
    "content-length",
    "host",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Sends a request and returns the body of the answer.
pub(crate) fn request(input: &Value, context: &ToolContext<'_>) -> Result<ToolEnd, Failure> {
    let asked = HttpRequest::of(input)?;
    let seconds = input.get("timeout").and_then(Value::as_f64);
    let timeout = Duration::try_from_secs_f64(seconds.unwrap_or(SECONDS)).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| unreachable(&error))?;
    let answer = runtime.block_on(within(timeout, context, asked.sent()));
    // A name lookup cannot be cancelled: it is left running.
    runtime.shutdown_background();
    Ok(answer?.told())
}

/// Waits for `work`, unless it takes too long or the call is cancelled.
async fn within<T>(
    timeout: Duration,
    context: &ToolContext<'_>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut work = std::pin::pin!(work);
    let mut cancelled = std::pin::pin!(context.cancel.cancelled());
    let mut late = std::pin::pin!(tokio::time::sleep(timeout));
    std::future::poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        if cancelled.as_mut().poll(context).is_ready() {
            let why = "the request was cancelled";
            return Poll::Ready(Err(Failure::new(Code::Cancelled, why)));
        }
        late.as_mut().poll(context).map(|()| {
            let why = format!("no whole answer came within {} ms", timeout.as_millis());
            Err(Failure::new(Code::Timeout, why))
        })
    })
    .await
}

fn unreachable(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::Unreachable, format!("the request failed: {error}"))
}

fn invalid(why: impl Into<String>) -> Failure {
    Failure::new(Code::InvalidArguments, why)
}

/// A request, and where it goes next.
#[derive(Debug)]
struct HttpRequest {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl HttpRequest {
    fn of(input: &Value) -> Result<Self, Failure> {
        let mut url = Url::parse(text(input, "url"))
            .map_err(|error| invalid(format!("`url` is not an address: {error}")))?;
        if !is_web(&url) {
            return Err(invalid("`url` must begin with `http:` or `https:`"));
        }
        add_query(&mut url, input.get("query"));
        let method = optional(input, "method")
            .unwrap_or("GET")
            .to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| invalid("`method` is not a method"))?;
        let mut headers = headers(input.get("headers"))?;
        let body = match input.get("body") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone().into_bytes()),
            Some(other) => {
                headers
                    .entry(CONTENT_TYPE)
                    .or_insert(HeaderValue::from_static("application/json"));
                Some(other.to_string().into_bytes())
            }
        };
        Ok(Self {
            url,
            method,
            headers,
            body,
        })
    }

    /// Sends it, follows redirects, and reads the complete response.
    async fn sent(mut self) -> Result<Answer, Failure> {
        for _ in 0..=REDIRECTS_MAX {
            let mut request = client(&self.url)?
                .request(self.method.clone(), self.url.clone())
                .headers(self.headers.clone());
            if let Some(body) = &self.body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(on_the_way)?;
            match next(&response)? {
                None => return Answer::of(response).await,
                Some(url) => self.go_on(response.status(), url)?,
            }
        }
        let why = format!("the server leads elsewhere more than {REDIRECTS_MAX} times");
        Err(Failure::new(Code::Redirect, why))
    }

    fn go_on(&mut self, status: StatusCode, url: Url) -> Result<(), Failure> {
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
        }
        if url.origin() != self.url.origin() {
            if self.body.is_some() {
                let why = "the server leads to another one, for which the body was not meant";
                return Err(Failure::new(Code::Redirect, why));
            }
            // They may be secrets, and were meant for the first server.
            self.headers.clear();
        }
        self.url = url;
        Ok(())
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

fn add_query(url: &mut Url, query: Option<&Value>) {
    let Some(fields) = query
        .and_then(Value::as_object)
        .filter(|all| !all.is_empty())
    else {
        return;
    };
    let mut pairs = url.query_pairs_mut();
    for (name, value) in fields {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            match value {
                Value::Null => {}
                Value::String(text) => drop(pairs.append_pair(name, text)),
                other => drop(pairs.append_pair(name, &other.to_string())),
            }
        }
    }
}

fn headers(given: Option<&Value>) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let wrong = || {
            let name = interlock_facts::one_line(name, 80);
            invalid(format!("`headers` cannot set `{name}`"))
        };
        let known: HeaderName = name.parse().map_err(|_| wrong())?;
        if OWN_HEADERS.contains(&known.as_str()) {
            return Err(wrong());
        }
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(known, value);
    }
    Ok(headers)
}

/// Creates the client for one address: certificates and proxies differ by address.
fn client(url: &Url) -> Result<Client, Failure> {
    let client = interlock_http::client(url).map_err(|error| unreachable(&error))?;
    client
        .user_agent(interlock_http::USER_AGENT)
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| unreachable(&error))
}

fn on_the_way(error: reqwest::Error) -> Failure {
    unreachable(&interlock_http::explained(error))
}

/// Returns the target of a redirect; `None` if this is the final response.
fn next(response: &Response) -> Result<Option<Url>, Failure> {
    let leads = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(place) = response.headers().get(LOCATION).filter(|_| leads) else {
        return Ok(None);
    };
    let place = String::from_utf8_lossy(place.as_bytes());
    let next = response.url().join(&place);
    match next {
        Ok(url) if is_web(&url) => Ok(Some(url)),
        _ => Err(Failure::new(
            Code::Redirect,
            "the server leads to something else than `http:` or `https:`",
        )),
    }
}

/// Response of a server.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    async fn of(mut response: Response) -> Result<Self, Failure> {
        let status = response.status();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(on_the_way)? {
            if body.len().saturating_add(chunk.len()) > BODY_BYTES_MAX {
                let why = format!("the answer has more than {BODY_BYTES_MAX} bytes");
                return Err(Failure::new(Code::TooLarge, why));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Self {
            status,
            headers,
            body,
        })
    }

    fn told(self) -> ToolEnd {
        let body = String::from_utf8_lossy(&self.body).into_owned();
        let bytes = length(&body);
        let reply = self.reply();
        let end = if self.status.as_u16() < 400 {
            ToolEnd::done(body)
        } else {
            let mut message = format!("the server answered with status {}", self.status.as_u16());
            let shown: String = body.chars().take(FAILED_BODY_BYTES).collect();
            if !shown.is_empty() {
                message = format!("{message}:\n{shown}");
            }
            ToolEnd::failed(Code::HttpStatus, message)
        };
        ToolEnd {
            bytes,
            reply: Some(reply),
            ..end
        }
    }

    fn reply(&self) -> Reply {
        let asked = self.headers.get(RETRY_AFTER);
        Reply {
            status: self.status.as_u16(),
            retry_after_ms: asked
                .and_then(|value| value.to_str().ok())
                .and_then(|text| retry_after(text, SystemTime::now()))
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            headers: self
                .headers
                .iter()
                .filter_map(|(name, value)| {
                    Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
                })
                .collect(),
        }
    }
}
