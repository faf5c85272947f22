//! Measures the console over HTTP: a step of the scrubber in a long run, and a list of many runs.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_console::{Console, Settings};
use interlock_core::{event::Event, names::RunId};
use interlock_store::{EventLog as _, Home, RunLog};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{arguments::Arguments, log::started, sample::median, table::Table};

/// Number of events in the long run.
pub(crate) const EVENTS: u64 = 100_000;
/// Number of runs in the long list.
const RUNS: usize = 10_000;
/// Number of events appended at once.
const BATCH: u64 = 2_000;
/// Number of requests for a median.
const REQUESTS: u64 = 101;

const STEP: Duration = Duration::from_millis(50);
const PAINT: Duration = Duration::from_secs(1);
const LIST: Duration = Duration::from_millis(200);

/// Measures the requests that a person waits for.
pub(crate) fn console(_: &Arguments, table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let home = Home::at(folder.path().join("state"));
    let run = long_run(&home)?;
    let mut page = Page::open(home)?;
    let path = format!("runs/{run}");
    let mut first = Duration::ZERO;
    for rest in [
        "",
        "/graph",
        "/timeline",
        &format!("/state?at={EVENTS}&with=marks"),
        "/events?from=99800",
    ] {
        first += page.get(&format!("{path}{rest}"))?;
    }
    table.time(
        format!("console: all that a page of a run of {EVENTS} events asks first"),
        first,
        PAINT,
    );
    let (mut back, mut far) = (Vec::new(), Vec::new());
    for step in 0..REQUESTS {
        let at = EVENTS / 2 - step;
        back.push(page.get(&format!("{path}/state?at={at}&with=marks"))?);
    }
    for step in 0..REQUESTS {
        let at = step * 7_919 * 13 % EVENTS;
        far.push(page.get(&format!("{path}/state?at={at}&with=marks"))?);
    }
    table.time(
        "console: a step back of the scrubber, state and graph",
        median(back),
        STEP,
    );
    table.time(
        "console: a jump of the scrubber, state and graph",
        median(far),
        STEP,
    );
    list(table)
}

/// Measures the list of many runs.
fn list(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let home = Home::at(folder.path().join("state"));
    for number in 0..RUNS {
        let log = started(&home)?.log;
        if number % 100 > 0 {
            end(log)?;
        }
    }
    let mut page = Page::open(home)?;
    // The first request reads each run once; later ones use an index.
    thread::sleep(Duration::from_secs(3));
    page.get("runs")?;
    let mut times = Vec::new();
    for _ in 0..11 {
        thread::sleep(Duration::from_millis(300));
        times.push(page.get("runs?status=open&limit=100")?);
    }
    table.time(format!("console: {RUNS} runs listed"), median(times), LIST);
    Ok(())
}

fn end(mut log: RunLog) -> Result<()> {
    let by = "bench".to_owned();
    let count = log.count()?;
    Ok(log.append(count, 2_000, &[Event::RunCancelled { by }])?)
}

/// Creates a run that was paused and resumed many times.
pub(crate) fn long_run(home: &Home) -> Result<RunId> {
    let mut log = started(home)?.log;
    let mut seq = log.count()?;
    while seq < EVENTS {
        let to = (seq + BATCH).min(EVENTS);
        let events: Vec<Event> = (seq..to).map(paused_or_resumed).collect();
        log.append(seq, 1_000 + seq, &events)?;
        seq = to;
    }
    Ok(log.run().clone())
}

pub(crate) fn paused_or_resumed(seq: u64) -> Event {
    let by = "bench".to_owned();
    if seq.is_multiple_of(2) {
        Event::RunResumed { by }
    } else {
        let reason = Some(format!("lunch number {seq}"));
        Event::RunPaused { by, reason }
    }
}

/// A reader of a stream.
pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Reads until a line contains `wanted`.
    pub(crate) fn until(&mut self, wanted: &str) -> Result<()> {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            ensure!(self.0.read_line(&mut line)? > 0, "the stream ended");
        }
        Ok(())
    }
}

/// A paired page, with one connection.
pub(crate) struct Page {
    stream: BufReader<TcpStream>,
    port: u16,
    bearer: String,
}

impl Page {
    pub(crate) fn open(home: Home) -> Result<Self> {
        let mut console = Console::start(Settings::alone(home, "bench"))?;
        let address = console.address();
        let port = address
            .trim_matches(|letter: char| !letter.is_ascii_digit())
            .parse()?;
        thread::spawn(move || {
            while let Some(request) = console.next_pairing() {
                request.answer(true);
            }
        });
        let stream = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
        let mut page = Self {
            stream,
            port,
            bearer: String::new(),
        };
        let secret = [7_u8; 32];
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let key = hex(&Sha256::digest(secret));
        let begun = page.post("pair", &json!({ "key": key }))?;
        let finish = json!({ "pairing": begun.get("pairing"), "secret": hex(&secret) });
        loop {
            let found = page.post("pair/finish", &finish)?;
            if let Some(bearer) = found.get("bearer").and_then(Value::as_str) {
                page.bearer = bearer.to_owned();
                return Ok(page);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://localhost:{}/", self.port)
    }

    /// Opens a stream on a separate connection.
    pub(crate) fn follow(&self, path: &str) -> Result<Stream> {
        let (port, bearer) = (self.port, &self.bearer);
        let request = format!(
            "GET /api/v1/{path} HTTP/1.1\r\nHost: localhost:{port}\r\nSec-Fetch-Site: same-origin\r\n\
             Authorization: Bearer {bearer}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.write_all(request.as_bytes())?;
        let mut stream = Stream(BufReader::new(stream));
        stream.until("200 OK")?;
        Ok(stream)
    }

    /// Sends a request; returns the time until the whole response was read.
    fn get(&mut self, path: &str) -> Result<Duration> {
        let begun = Instant::now();
        self.send("GET", path, "")?;
        Ok(begun.elapsed())
    }

    fn post(&mut self, path: &str, body: &Value) -> Result<Value> {
        let body = self.send("POST", path, &body.to_string())?;
        Ok(serde_json::from_slice(&body)?)
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Vec<u8>> {
        let (port, bearer, bytes) = (self.port, &self.bearer, body.len());
        let request = format!(
            "{method} /api/v1/{path} HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n\
             Sec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nAuthorization: Bearer {bearer}\r\n\
             Content-Length: {bytes}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut status = String::new();
        self.stream.read_line(&mut status)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().context("a length")?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        ensure!(
            status.contains(" 20"),
            "{path}: {status} {}",
            String::from_utf8_lossy(&body)
        );
        Ok(body)
    }
}
