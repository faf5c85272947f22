//! Access control by host, origin and token, before anything is read.
//!
//! A page in a browser must not reach the gateway, whatever name its server gave to 127.0.0.1; beyond loopback, a token is always
//! required.

use std::net::{IpAddr, SocketAddr};

use axum::http::{
    HeaderMap, HeaderValue, StatusCode, Uri,
    header::{AUTHORIZATION, HOST, ORIGIN},
    uri::Authority,
};
use sha2::{Digest as _, Sha256};

use super::{Caller, refuse::Refused};

/// The access rules of a server.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    loopback: bool,
    token: Option<Secret>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// A text that is only compared, in constant time.
#[derive(Clone)]
struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Returns the hash of a token.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Secret {
    fn new(text: &str) -> Self {
        Self(hash(text))
    }

    fn is(&self, given: &str) -> bool {
        let given = Self::new(given);
        let pairs = self.0.iter().zip(given.0.iter());
        pairs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

/// The credentials of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// Headers of the request.
    pub(crate) headers: &'a HeaderMap,
    /// Token in its path.
    pub(crate) path_token: Option<&'a str>,
}

impl Guard {
    /// Creates the rules of a server that listens at `address`.
    pub(crate) fn new(
        address: SocketAddr,
        token: Option<&str>,
        hosts: &[String],
        origins: &[String],
    ) -> Self {
        let lower = |text: &String| text.trim_end_matches('/').to_ascii_lowercase();
        Self {
            loopback: address.ip().is_loopback(),
            token: token.map(Secret::new),
            hosts: hosts.iter().map(lower).collect(),
            origins: origins.iter().map(lower).collect(),
        }
    }

    /// Checks the host that the request addresses, and the page that sent it.
    pub(crate) fn check_place(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let forbidden = |what: &str| Err(Refused::plain(StatusCode::FORBIDDEN, what));
        // A complete address in the request line takes precedence over `Host`.
        if uri
            .authority()
            .is_some_and(|authority| !self.knows(authority))
        {
            return forbidden(
                "the address of the request is not one of this server: name its host with `--allow-host`",
            );
        }
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let authority = host.and_then(|host| host.parse::<Authority>().ok());
        match authority {
            Some(authority) if hosts.next().is_none() && self.knows(&authority) => {}
            _ => {
                return forbidden(
                    "the `Host` of the request is not one of this server: name it with `--allow-host`",
                );
            }
        }
        for origin in headers.get_all(ORIGIN) {
            if !origin.to_str().is_ok_and(|origin| self.allows(origin)) {
                return forbidden(
                    "the `Origin` of the request may not call this server: allow it with `--allow-origin`",
                );
            }
        }
        Ok(())
    }

    fn knows(&self, authority: &Authority) -> bool {
        // No client writes a name and a password into `Host`.
        if authority.as_str().contains('@') {
            return false;
        }
        let host = bare(authority.host());
        let whole = authority.as_str().to_ascii_lowercase();
        if is_loopback(&host) || self.hosts.contains(&host) || self.hosts.contains(&whole) {
            return true;
        }
        // DNS rebinding needs a name: an address is harmless if a token is required.
        !self.loopback && host.parse::<IpAddr>().is_ok()
    }

    fn allows(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        origin.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| is_loopback(&bare(host)))
        })
    }

    /// Determines the caller.
    ///
    /// `run_of` finds the run of a credential, and refuses if there is none.
    pub(crate) async fn caller<F>(
        &self,
        shown: &Shown<'_>,
        run_of: impl Fn(String) -> F,
    ) -> Result<Caller, Refused>
    where
        F: Future<Output = Result<Caller, Refused>>,
    {
        let bearer = bearer(shown.headers)?;
        let is_server = |given: &str| self.token.as_ref().is_some_and(|token| token.is(given));
        match (shown.path_token, bearer) {
            (None, None) if self.token.is_none() => Ok(Caller::Nobody),
            (None, None) => Err(Refused::unauthorized("a bearer token is needed")),
            (None, Some(given)) if is_server(given) => Ok(Caller::Nobody),
            (Some(path), Some(given)) if is_server(given) => run_of(path.to_owned()).await,
            (Some(one), None) | (None, Some(one)) => run_of(one.to_owned()).await,
            (Some(path), Some(given)) => {
                let of_path = run_of(path.to_owned()).await?;
                if of_path == run_of(given.to_owned()).await? {
                    Ok(of_path)
                } else {
                    Err(Refused::unauthorized(
                        "path and bearer token are of two different runs",
                    ))
                }
            }
        }
    }

    /// Returns whether the metrics may be shown.
    pub(crate) fn may_measure(&self, headers: &HeaderMap) -> bool {
        self.token.as_ref().is_none_or(|token| {
            let given = bearer(headers).ok().flatten();
            given.is_some_and(|given| token.is(given))
        })
    }

    /// Returns the origin of a page that may read the answers.
    pub(crate) fn page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.origins.contains(&text).then_some(origin)
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refused> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let token = value.to_str().ok().and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    match token {
        Some(token) if !token.is_empty() && values.next().is_none() => Ok(Some(token)),
        _ => Err(Refused::unauthorized(
            "`Authorization` is not one bearer token",
        )),
    }
}

/// Returns a host without brackets, in lower case.
fn bare(host: &str) -> String {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use interlock_core::names::RunId;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn check(guard: &Guard, host: &str, origin: Option<&str>) -> bool {
        let mut lines = vec![("host", host)];
        lines.extend(origin.map(|origin| ("origin", origin)));
        guard
            .check_place(&Uri::from_static("/mcp"), &headers(&lines))
            .is_ok()
    }

    fn local() -> Guard {
        Guard::new("127.0.0.1:80".parse().unwrap(), None, &[], &[])
    }

    fn wide() -> Guard {
        let hosts = ["Gateway.example".to_owned()];
        let origins = ["https://console.example/".to_owned()];
        Guard::new("0.0.0.0:80".parse().unwrap(), Some("t"), &hosts, &origins)
    }

    #[test]
    fn only_names_of_this_machine_reach_a_local_server() {
        let own = [
            "localhost",
            "LOCALHOST:99",
            "127.0.0.1:1",
            "[::1]:8080",
            "127.9.9.9",
        ];
        for host in own {
            assert!(check(&local(), host, None), "{host}");
        }
        let others = [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "",
            "127.0.0.1.nip.io",
            "evil.example@127.0.0.1",
            "a b",
        ];
        for host in others {
            assert!(!check(&local(), host, None), "{host}");
        }
        let path = Uri::from_static("/mcp");
        let none = HeaderMap::new();
        assert!(local().check_place(&path, &none).is_err(), "no host");
        let two = headers(&[("host", "localhost"), ("host", "evil.example")]);
        assert!(local().check_place(&path, &two).is_err(), "two hosts");
        let one = headers(&[("host", "localhost")]);
        let whole = Uri::from_static("http://localhost/mcp");
        assert!(local().check_place(&whole, &one).is_ok(), "written out");
        let other = Uri::from_static("http://evil.example/mcp");
        assert!(local().check_place(&other, &one).is_err(), "another's");
    }

    #[test]
    fn names_and_addresses_reach_a_wide_server() {
        for host in [
            "gateway.example",
            "gateway.example:443",
            "10.0.0.1:80",
            "localhost",
        ] {
            assert!(check(&wide(), host, None), "{host}");
        }
        assert!(!check(&wide(), "evil.example", None));
    }

    #[test]
    fn only_pages_of_this_machine_or_allowed_ones_may_ask() {
        for origin in [
            "http://localhost:6274",
            "https://127.0.0.1",
            "http://[::1]:3",
        ] {
            assert!(check(&local(), "localhost", Some(origin)), "{origin}");
        }
        let others = [
            "http://evil.example",
            "null",
            "file://localhost",
            "http://localhost.evil.example",
            "",
        ];
        for origin in others {
            assert!(!check(&local(), "localhost", Some(origin)), "{origin}");
        }
        assert!(check(&wide(), "localhost", Some("https://console.example")));
        assert!(!check(&wide(), "localhost", Some("http://console.example")));
    }

    /// Returns the run of a credential in these tests, such as `a` for `a1`.
    async fn run_of(credential: String) -> Result<Caller, Refused> {
        match credential.as_str() {
            "a1" | "a2" => Ok(Caller::Run(RunId::new("a"))),
            "b1" => Ok(Caller::Run(RunId::new("b"))),
            _ => Err(Refused::unauthorized("not known")),
        }
    }

    #[tokio::test]
    async fn a_path_and_a_bearer_are_of_one_run() {
        let nobody = Caller::Nobody;
        let run = |name: &str| Caller::Run(RunId::new(name));
        for (path, bearer, wanted) in [
            (Some("a1"), Some("a2"), Some(run("a"))),
            (Some("a1"), Some("t"), Some(run("a"))),
            (Some("a1"), None, Some(run("a"))),
            (None, Some("b1"), Some(run("b"))),
            (None, Some("t"), Some(nobody)),
            (Some("a1"), Some("b1"), None),
            (Some("b1"), Some("a1"), None),
            (Some("a1"), Some("unknown"), None),
            (Some("unknown"), Some("a1"), None),
            (Some("unknown"), Some("t"), None),
            (Some("t"), None, None),
            (None, None, None),
        ] {
            let given = bearer.map(|given| format!("Bearer {given}"));
            let lines: Vec<(&str, &str)> = given
                .iter()
                .map(|given| ("authorization", given.as_str()))
                .collect();
            let headers = headers(&lines);
            let shown = Shown {
                headers: &headers,
                path_token: path,
            };
            let found = wide().caller(&shown, run_of).await.ok();
            assert_eq!(found, wanted, "{path:?} {bearer:?}");
        }
    }

    #[tokio::test]
    async fn a_request_has_one_bearer_token() {
        for (lines, wanted) in [
            (vec!["Bearer t"], Some(Caller::Nobody)),
            (vec!["bearer  t "], Some(Caller::Nobody)),
            (vec!["Bearer t", "Bearer t"], None),
            (vec!["Bearer t", "Bearer unknown"], None),
            (vec!["Bearer unknown", "Bearer t"], None),
            (vec!["Basic t"], None),
            (vec!["Bearer "], None),
            (vec!["t"], None),
        ] {
            let named: Vec<(&str, &str)> =
                lines.iter().map(|line| ("authorization", *line)).collect();
            let headers = headers(&named);
            let shown = Shown {
                headers: &headers,
                path_token: None,
            };
            assert_eq!(
                wide().caller(&shown, run_of).await.ok(),
                wanted,
                "{lines:?}"
            );
            assert_eq!(wide().may_measure(&headers), wanted.is_some(), "{lines:?}");
        }
    }
}
