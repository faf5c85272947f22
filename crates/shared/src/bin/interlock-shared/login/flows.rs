//! The two ways of signing in at an issuer: with a browser of this machine (PKCE, a loopback address), and with a
//! browser of another one (the device flow).

use std::{
    error::Error,
    io::{self, Read as _, Write as _},
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use interlock_fleet::IssuerLine;
use interlock_store::random_word;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use super::{
    http::{Http, checked},
    tell,
};

/// How long a person may take to sign in.
const PERSON_TIME: Duration = Duration::from_secs(300);
/// How long a browser may take to send its request.
const BROWSER_TIME: Duration = Duration::from_secs(5);
/// Maximum size of a browser's request in bytes.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// The interval of questions that an issuer has not set, in seconds.
const INTERVAL_S: u64 = 5;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// An issuer with its own description.
pub(super) struct Issuer<'a> {
    line: &'a IssuerLine,
    about: Value,
}

impl<'a> Issuer<'a> {
    /// Reads the description of an issuer.
    pub(super) fn find(http: &Http, line: &'a IssuerLine) -> Result<Self, Box<dyn Error>> {
        let address = format!(
            "{}/.well-known/openid-configuration",
            line.issuer.trim_end_matches('/')
        );
        let url = checked(&address).ok_or_else(|| format!("`{}` is no issuer", line.issuer))?;
        let about = http.of_issuer(&url, None)?;
        if about.get("issuer").and_then(Value::as_str) != Some(&line.issuer) {
            return Err(format!("{} calls itself otherwise", line.issuer).into());
        }
        Ok(Self { line, about })
    }

    fn endpoint(&self, name: &str) -> Result<Url, String> {
        let address = self.about.get(name).and_then(Value::as_str);
        let url = address.and_then(checked);
        url.ok_or_else(|| format!("{} has no `{name}` at `https`", self.line.issuer))
    }

    /// Has a person sign in with a browser of this machine; returns the ID token and the secret of its nonce.
    pub(super) fn by_browser(&self, http: &Http) -> Result<(String, String), Box<dyn Error>> {
        let secret = || -> io::Result<String> { Ok(format!("{}{}", word()?, word()?)) };
        let (verifier, state, nonce_secret) = (secret()?, secret()?, secret()?);
        let listener = (http.runtime).block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let back = format!("http://{}/callback", listener.local_addr()?);
        let mut url = self.endpoint("authorization_endpoint")?;
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", self.line.client_id.as_str()),
            ("redirect_uri", back.as_str()),
            ("scope", self.line.scope.as_str()),
            ("state", state.as_str()),
            ("nonce", hashed(&nonce_secret).as_str()),
            ("code_challenge", hashed(&verifier).as_str()),
            ("code_challenge_method", "S256"),
        ]);
        tell(&format!(
            "Open this address in a browser of this machine:\n{url}"
        ))?;
        let expected = Expected {
            state: &state,
            issuer: &self.line.issuer,
        };
        let code = http.runtime.block_on(async {
            let waited = timeout(PERSON_TIME, code(&listener, &expected)).await;
            waited.unwrap_or_else(|_| Err("nobody has signed in for 5 minutes".into()))
        })?;
        let answer = http.of_issuer(
            &self.endpoint("token_endpoint")?,
            Some(&[
                ("grant_type", "authorization_code"),
                ("code", code.as_str()),
                ("redirect_uri", back.as_str()),
                ("client_id", self.line.client_id.as_str()),
                ("code_verifier", verifier.as_str()),
            ]),
        )?;
        Ok((id_token(&answer)?, nonce_secret))
    }

    /// Has a person sign in with a browser of another machine; returns the ID token.
    pub(super) fn by_device(&self, http: &Http) -> Result<String, Box<dyn Error>> {
        let own = [
            ("client_id", self.line.client_id.as_str()),
            ("scope", self.line.scope.as_str()),
        ];
        let device = self.endpoint("device_authorization_endpoint")?;
        let answer = http.of_issuer(&device, Some(&own))?;
        let text = |name: &str| {
            let found = answer.get(name).and_then(Value::as_str);
            found.ok_or_else(|| refusal(&answer, &format!("its answer has no `{name}`")))
        };
        let (code, shown, at) = (
            text("device_code")?,
            text("user_code")?,
            text("verification_uri")?,
        );
        let seconds = |name: &str| answer.get(name).and_then(Value::as_u64);
        let mut interval = Duration::from_secs(seconds("interval").unwrap_or(INTERVAL_S));
        let lasts = Duration::from_secs(seconds("expires_in").unwrap_or(300)).min(PERSON_TIME);
        tell(&format!(
            "Open {at} in any browser, and enter the code {shown}.\n\
             Enter no code that somebody has sent you: they would act in your name."
        ))?;
        let began = Instant::now();
        let token = self.endpoint("token_endpoint")?;
        while began.elapsed() < lasts {
            let form = [
                ("grant_type", DEVICE_GRANT),
                ("device_code", code),
                ("client_id", self.line.client_id.as_str()),
            ];
            let answer = http.of_issuer(&token, Some(&form))?;
            match answer.get("error").and_then(Value::as_str) {
                Some("authorization_pending") => {}
                Some("slow_down") => interval += Duration::from_secs(INTERVAL_S),
                _ => return id_token(&answer),
            }
            http.runtime.block_on(async { sleep(interval).await });
        }
        Err("nobody has signed in in time".into())
    }
}

fn word() -> io::Result<String> {
    random_word().map_err(|error| io::Error::other(error.to_string()))
}

/// Returns the SHA-256 of a secret, in base64url.
fn hashed(secret: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, secret.as_bytes()))
}

fn id_token(answer: &Value) -> Result<String, Box<dyn Error>> {
    let token = answer.get("id_token").and_then(Value::as_str);
    let token = token.ok_or_else(|| refusal(answer, "its answer has no ID token"))?;
    Ok(token.to_owned())
}

fn refusal(answer: &Value, otherwise: &str) -> String {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let why = match (text("error"), text("error_description")) {
        (Some(error), Some(more)) => format!("{more} ({error})"),
        (Some(error), None) => error.to_owned(),
        (None, _) => otherwise.to_owned(),
    };
    format!("the issuer signs nobody in: {why}")
}

/// What a browser has to come back with.
struct Expected<'a> {
    state: &'a str,
    issuer: &'a str,
}

/// Waits until a browser comes back from the issuer, and returns the code that it brings.
///
/// Requests of other programs are answered and forgotten: only the issuer's answer has the state.
async fn code(listener: &TcpListener, expected: &Expected<'_>) -> Result<String, Box<dyn Error>> {
    loop {
        let (stream, _) = listener.accept().await?;
        let Ok((mut stream, query)) = request(stream) else {
            continue;
        };
        let found = query.as_deref().and_then(|query| read(query, expected));
        let (status, text) = match &found {
            None => ("404 Not Found", "Nothing is here."),
            Some(Ok(_)) => ("200 OK", "Close this page, and go back to the terminal."),
            Some(Err(_)) => ("200 OK", "You are not signed in. The terminal says why."),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}",
            text.len()
        );
        let _ = stream.write_all(answer.as_bytes());
        if let Some(found) = found {
            return Ok(found?);
        }
    }
}

/// Reads the head of a request; returns the query of one that comes back from an issuer.
fn request(stream: TcpStream) -> io::Result<(std::net::TcpStream, Option<String>)> {
    let mut stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(BROWSER_TIME))?;
    stream.set_write_timeout(Some(BROWSER_TIME))?;
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < REQUEST_BYTES_MAX {
        let read = stream.read(&mut part)?;
        if read == 0 {
            break;
        }
        head.extend(part.iter().take(read));
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head
        .strip_prefix("GET ")
        .and_then(|rest| rest.split(' ').next());
    let query = target.and_then(|target| target.strip_prefix("/callback?"));
    Ok((stream, query.map(str::to_owned)))
}

/// Returns the code of an answer, or why there is none; `None`: it is not the answer that is expected.
fn read(query: &str, expected: &Expected<'_>) -> Option<Result<String, String>> {
    let url = Url::parse(&format!("http://callback/?{query}")).ok()?;
    let one = |name: &str| {
        let mut values = url.query_pairs().filter(|(key, _)| key == name);
        let value = values.next().map(|(_, value)| value.into_owned());
        (value, values.next().is_some())
    };
    let ((state, twice), (code, codes), (error, _)) = (one("state"), one("code"), one("error"));
    if twice || codes || state.as_deref() != Some(expected.state) {
        return None;
    }
    let (issuer, _) = one("iss");
    if issuer.is_some_and(|issuer| issuer != expected.issuer) {
        return Some(Err(
            "another issuer has answered: nothing was exchanged".to_owned()
        ));
    }
    if let Some(error) = error {
        let (more, _) = one("error_description");
        let why = more.map_or(error.clone(), |more| format!("{more} ({error})"));
        return Some(Err(format!("the issuer signs nobody in: {why}")));
    }
    code.map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_the_own_question_brings_a_code() {
        let expected = Expected {
            state: "s1",
            issuer: "https://login.example",
        };
        for (query, found) in [
            ("code=c&state=s1", Some(Ok("c"))),
            (
                "code=c&state=s1&iss=https%3A%2F%2Flogin.example",
                Some(Ok("c")),
            ),
            (
                "code=c&state=s1&iss=https%3A%2F%2Fevil.example",
                Some(Err("another issuer")),
            ),
            ("error=access_denied&state=s1", Some(Err("access_denied"))),
            ("code=c", None),
            ("code=c&state=s2", None),
            ("code=c&state=s1&state=s1", None),
            ("code=c&code=d&state=s1", None),
            ("error=access_denied", None),
            ("state=s1", None),
        ] {
            match (read(query, &expected), found) {
                (Some(Ok(code)), Some(Ok(wanted))) => assert_eq!(code, wanted),
                (Some(Err(why)), Some(Err(part))) => assert!(why.contains(part), "{why}"),
                (None, None) => {}
                (other, _) => assert!(other.is_none() && found.is_none(), "{query}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_challenge_is_that_of_the_standard() {
        // Appendix B of RFC 7636.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            hashed(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }
}
