//! One pending HTTP request, and its response.
//!
//! A local server without encryption is called with the bare client, which saves a tenth of a call's time. Encryption, proxies
//! and redirects need the other client.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use interlock_http::is_loopback;
use reqwest::{Response, StatusCode, Url, header::HeaderMap};

use super::{CONNECT_TIME, speech::Failure};

/// How long a connection may be idle before it is closed.
const REST_TIME: std::time::Duration = std::time::Duration::from_secs(90);

/// Client for servers on this machine.
#[derive(Debug, Clone)]
pub(super) struct LocalClient {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: hyper::Uri,
}

impl LocalClient {
    /// Creates one; returns `None` if the address needs more than it supports.
    pub(super) fn new(url: &Url) -> Option<Self> {
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        if url.scheme() != "http" || !is_loopback(url) || has_credentials {
            return None;
        }
        let mut url = url.clone();
        url.set_fragment(None);
        let uri = url.as_str().parse().ok()?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIME));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(REST_TIME)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Some(Self { client, uri })
    }

    /// Posts a body; returns `None` for a redirect, which the caller follows with the other client.
    pub(super) async fn post(
        &self,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Option<Answered>, Failure> {
        let mut request = hyper::Request::new(Full::new(body));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        let response = self.client.request(request).await;
        let response = response.map_err(|error| Failure::unreached(&error))?;
        Ok((!response.status().is_redirection()).then(|| Answered::LocalClient(response)))
    }
}

/// A server's response, with its body yet to be read.
#[derive(Debug)]
pub(super) enum Answered {
    /// From the bare client.
    LocalClient(hyper::Response<Incoming>),
    /// From the full client.
    Far(Response),
}

impl Answered {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::LocalClient(response) => response.status(),
            Self::Far(response) => response.status(),
        }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            Self::LocalClient(response) => response.headers(),
            Self::Far(response) => response.headers(),
        }
    }

    /// Returns the address that it came from, which differs from `asked` after a redirect.
    pub(super) fn url(&self, asked: &Url) -> Url {
        match self {
            Self::LocalClient(_) => asked.clone(),
            Self::Far(response) => response.url().clone(),
        }
    }

    /// Returns the next piece of the body; `None` at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        let response = match self {
            Self::Far(response) => return response.chunk().await.map_err(Failure::on_the_way),
            Self::LocalClient(response) => response,
        };
        while let Some(frame) = response.body_mut().frame().await {
            let frame = frame.map_err(|error| Failure::unreached(&error))?;
            // What is not data is a trailer.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}
