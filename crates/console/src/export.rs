//! Exports a run as one HTML file: the console's page, with the console's responses embedded.
//!
//! INVARIANT: the file contains only what the page would show, masked in the same way; it loads nothing, sends nothing
//! and runs no script but the page's, which its policy names by hash.

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{Router, body::Body, http::Request};
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use interlock_core::names::RunId;
use interlock_tools::Secrets;
use serde_json::{Value, json, value::RawValue};
use sha2::{Digest as _, Sha256};

use crate::{masked::mask, page, reply::Problem};

/// Maximum size of the recording in bytes; a browser still opens such a file at once.
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum number of log events; the last ones are kept.
const LINES_MAX: u64 = 20_000;
/// Number of events in one window of the log, as the API returns it.
const WINDOW: u64 = 1_000;
/// Maximum number of recorded moments; for more events, only every second, third, … one is recorded.
const MOMENTS_MAX: u64 = 1_000;
/// Maximum number of events with details and explanations of calls; the last ones are kept.
const DETAILS_MAX: u64 = 5_000;

/// A run exported as one file.
pub struct Exported {
    /// The HTML text.
    pub html: String,
    /// Sentences about the omitted parts.
    pub left_out: Vec<String>,
}

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exported")
            .field("bytes", &self.html.len())
            .field("left_out", &self.left_out)
            .finish()
    }
}

/// Exports a run as one file, from the responses of `api`.
///
/// Because a file may be passed on, secrets are masked in all of its texts.
pub(crate) async fn export_of(
    api: Router,
    secrets: &Secrets,
    run: &RunId,
) -> Result<Exported, Problem> {
    let mut recorder = Recorder {
        api: TowerToHyperService::new(api),
        run: run.clone(),
        left: BYTES_MAX,
        left_out: vec![
            "transcripts, cost, and the same call in another state: the console shows them"
                .to_owned(),
        ],
    };
    let mut recording = recorder.record().await?;
    mask(secrets, &mut recording);
    let html = file(&recording.to_string(), run);
    Ok(Exported {
        html,
        left_out: recorder.left_out,
    })
}

/// Requests the content of the file from the API.
struct Recorder {
    api: TowerToHyperService<Router>,
    run: RunId,
    /// Number of bytes that still fit.
    left: usize,
    left_out: Vec<String>,
}

/// A response as JSON text.
type Raw = Box<RawValue>;

impl Recorder {
    async fn record(&mut self) -> Result<Value, Problem> {
        let mut detail: Value = parsed(&self.ask("").await?)?;
        if let Value::Object(fields) = &mut detail {
            // A file cannot answer requests or change the run.
            fields.insert("requests".to_owned(), json!([]));
            let can = json!({ "pause": false, "resume": false, "cancel": false });
            fields.insert("can".to_owned(), can);
        }
        let own = format!("runs/{}", self.run);
        let mut answers = serde_json::Map::new();
        let mut parts = Vec::new();
        for rest in ["/timeline", "/graph"] {
            let answer = self.ask(rest).await?;
            self.left = self.left.saturating_sub(answer.get().len());
            parts.push((format!("{own}{rest}"), answer));
        }
        let timeline: Value = match parts.first() {
            Some((_, timeline)) => parsed(timeline)?,
            None => Value::Null,
        };
        let total = timeline.get("events").and_then(Value::as_u64).unwrap_or(0);
        for (path, answer) in parts {
            answers.insert(path, parsed(&answer)?);
        }
        if let Value::Object(fields) = &mut detail {
            fields.insert("events".to_owned(), json!(total));
        }
        answers.insert(own, detail);
        let (first, lines) = self.lines(total).await?;
        let moments = self.moments(total).await?;
        let (events, calls) = self.details(total).await?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        });
        Ok(json!({
            "run": self.run,
            "version": env!("CARGO_PKG_VERSION"),
            "exported_ms": now_ms,
            "left_out": self.left_out,
            "answers": answers,
            "first": first,
            "lines": lines,
            "moments": moments,
            "events": events,
            "calls": calls,
        }))
    }

    /// Returns the last events of the log, and the sequence number of the first of them.
    async fn lines(&mut self, total: u64) -> Result<(u64, Vec<Value>), Problem> {
        let first = total.saturating_sub(LINES_MAX);
        if first > 0 {
            self.left_out.push(format!(
                "the first {first} of {total} events of the log: a file holds {LINES_MAX}"
            ));
        }
        let mut lines = Vec::new();
        let mut from = first;
        while from < total {
            let answer = self
                .ask(&format!("/events?from={from}&limit={WINDOW}"))
                .await?;
            self.left = self.left.saturating_sub(answer.get().len());
            let mut window: Value = parsed(&answer)?;
            let Some(Value::Array(found)) = window.get_mut("events").map(Value::take) else {
                break;
            };
            // Events since the export began are left out.
            let seq = |line: &Value| line.get("seq").and_then(Value::as_u64);
            lines.extend(found.into_iter().filter(|line| seq(line) < Some(total)));
            from += WINDOW;
        }
        Ok((first, lines))
    }

    /// Returns the state of the run after every event, or at regular steps.
    async fn moments(&mut self, total: u64) -> Result<Vec<Value>, Problem> {
        let step = (total + 1).div_ceil(MOMENTS_MAX).max(1);
        let mut moments = Vec::new();
        // The last moment comes first, because the file opens with it.
        let mut wanted: Vec<u64> = (0..total)
            .step_by(usize::try_from(step).unwrap_or(1))
            .collect();
        wanted.insert(0, total);
        let mut missing = 0_usize;
        for at in wanted {
            if self.left == 0 {
                missing += 1;
                continue;
            }
            let state = self.ask(&format!("/state?at={at}&with=marks")).await?;
            self.left = self.left.saturating_sub(state.get().len());
            let mut state: Value = parsed(&state)?;
            let marks = state
                .as_object_mut()
                .and_then(|fields| fields.remove("marks"));
            moments.push(json!({ "at": at, "state": state, "marks": marks }));
        }
        if step > 1 {
            self.left_out.push(format!(
                "how the run stood after each event: it is there for every {step}th, and between them as after the one before"
            ));
        }
        if missing > 0 {
            self.left_out.push(format!(
                "how the run stood at {missing} moments: the file would be too large"
            ));
        }
        moments.sort_by_key(|moment| moment.get("at").and_then(Value::as_u64));
        Ok(moments)
    }

    /// Returns the details of single events, the last ones first, and the explanations of calls.
    async fn details(&mut self, total: u64) -> Result<(Value, Value), Problem> {
        let (mut events, mut calls) = (serde_json::Map::new(), serde_json::Map::new());
        let mut missing = total.saturating_sub(DETAILS_MAX);
        for seq in (total.saturating_sub(DETAILS_MAX)..total).rev() {
            if self.left == 0 {
                missing += 1;
                continue;
            }
            let answer = self.ask(&format!("/events/{seq}")).await?;
            self.left = self.left.saturating_sub(answer.get().len());
            let event: Value = parsed(&answer)?;
            if event.get("why").is_some_and(|why| !why.is_null()) {
                // A call that cannot be judged again is shown without an explanation.
                if let Ok(why) = self.ask(&format!("/calls/{seq}/why")).await {
                    self.left = self.left.saturating_sub(why.get().len());
                    calls.insert(seq.to_string(), parsed(&why)?);
                }
            }
            events.insert(seq.to_string(), event);
        }
        if missing > 0 {
            self.left_out.push(format!(
                "the details of {missing} events: the file would be too large"
            ));
        }
        Ok((Value::Object(events), Value::Object(calls)))
    }

    /// Sends a request about the run to the API, as the page does.
    async fn ask(&self, rest: &str) -> Result<Raw, Problem> {
        let failed = |what: String| Problem::input(format!("the run cannot be exported: {what}"));
        let uri = format!("/runs/{}{rest}", self.run);
        let request = Request::get(uri)
            .body(Body::empty())
            .map_err(|_| Problem::unknown(format!("there is no run `{}`", self.run)))?;
        let response = match self.api.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let bytes = response.into_body().collect().await;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?.to_bytes();
        let answer: Raw =
            serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        if status.is_success() {
            return Ok(answer);
        }
        let problem: Value = parsed(&answer)?;
        let field = |name: &str| {
            let text = problem.pointer(&format!("/error/{name}"));
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Err(Problem::new(status, &field("code"), field("message")))
    }
}

fn parsed(answer: &RawValue) -> Result<Value, Problem> {
    serde_json::from_str(answer.get()).map_err(|error| Problem::input(error.to_string()))
}

/// Writes the file: the page's script and style, and the recording as inert data.
fn file(recording: &str, run: &RunId) -> String {
    let (script, style) = (page::text("exported.js"), page::text("exported.css"));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        source(script),
        source(style)
    );
    // Escaped, so that the data can neither close its element nor open another.
    let data = recording
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>Interlock: run {run}</title>\n<style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <noscript>This page needs JavaScript.</noscript>\n\
         <script id=\"recording\" type=\"application/json\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )
}

/// Returns the policy source of a text, its hash.
fn source(text: &str) -> String {
    let bytes: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let plain = interlock_core::passkey::base64url(&bytes)
        .replace('-', "+")
        .replace('_', "/");
    format!("sha256-{plain}=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_ends_no_element() {
        let run = RunId::new("01run");
        let html = file(r#"{"a":"</script><script>alert(1)</script><!--"}"#, &run);
        assert_eq!(html.matches("<script").count(), 2, "its own");
        assert_eq!(html.matches("</script").count(), 2, "its own");
        assert!(!html.contains("<!--"), "{html}");
    }

    #[test]
    fn the_page_of_a_file_ends_no_element_of_its_own() {
        for (name, end) in [("exported.js", "</script"), ("exported.css", "</style")] {
            let text = page::text(name).to_lowercase();
            assert!(!text.is_empty(), "{name}");
            assert!(!text.contains(end), "{name}");
            assert!(!text.contains("<!--"), "{name}");
        }
        assert!(!page::text("exported.css").contains("url("), "it loads");
    }
}
