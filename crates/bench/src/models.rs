//! Compares a model call with a bare exchange of the same bytes with the same scripted provider.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_models::{
    Call, Client, Kind, Message, Options, Part, Provider, Request, RetryPolicy, ToolResult,
    ToolSpec,
};
use interlock_process::Cancel;
use interlock_testkit::provider::{self, Reply, Script};
use serde_json::json;

use crate::{arguments::Arguments, sample::median, table::Table};

/// Number of turns of each; they alternate.
const TURNS: usize = 300;
/// Number of uncounted turns at the beginning.
const WARM_UP: usize = 20;
/// Number of the model's messages in the transcript.
const MESSAGES: usize = 20;
/// Maximum time that a call may add to the exchange at the median.
const ADDED_MOST: Duration = Duration::from_millis(2);
/// The last bytes of a chunked response.
const END: &[u8] = b"\r\n0\r\n\r\n";

pub(crate) fn turns(_: &Arguments, table: &mut Table) -> Result<()> {
    for kind in Kind::ALL {
        let provider = provider::Provider::start(Script::new(|_| said()))?;
        let client = Client::new()?;
        let cancel = Cancel::new()?;
        let to = Provider::new(kind, Some(&provider.url()), None)?;
        let request = request(kind);
        let call = || -> Result<Duration> {
            let begun = Instant::now();
            let answer = client.call(&to, &request, &RetryPolicy::once(), &cancel, &mut |_| {})?;
            let took = begun.elapsed();
            ensure!(answer.calls().count() == 1, "no answer");
            Ok(took)
        };
        call()?;
        let mut bare = Bare::of(&provider)?;
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for turn in 0..TURNS + WARM_UP {
            let (other, own) = (bare.exchange()?, call()?);
            if turn >= WARM_UP {
                others.push(other);
                ours.push(own);
            }
        }
        let (own, other) = (median(ours), median(others));
        table.time(
            format!("a model call over a bare exchange, {kind}"),
            own.saturating_sub(other),
            ADDED_MOST,
        );
    }
    Ok(())
}

fn said() -> Reply {
    let text = provider::text("Some text that comes in pieces. ".repeat(20));
    let call = provider::call("Read", json!({"file_path": "src/main.rs"}));
    Reply::say(vec![text, call])
}

/// Returns a transcript as in the middle of a stage, about 100 KiB.
fn request(kind: Kind) -> Request {
    let mut messages = vec![Message::user("Begin.")];
    for _ in 0..MESSAGES {
        let call = Call {
            name: "Read".to_owned(),
            arguments: r#"{"file_path":"src/main.rs"}"#.to_owned(),
            ..Call::default()
        };
        messages.push(Message::Assistant {
            parts: vec![Part::Text("I read.".to_owned()), Part::Call(call)],
        });
        let results = vec![ToolResult {
            call: 0,
            content: "a line of a file\n".repeat(300),
            is_error: false,
        }];
        messages.push(Message::Results { results });
    }
    let schema = json!({"type": "object", "properties": {"file_path": {"type": "string"}}});
    Request {
        model: format!("{kind}-model"),
        system: "You are thorough. ".repeat(100),
        messages,
        tools: vec![ToolSpec {
            name: "Read".to_owned(),
            description: "Reads a file.".to_owned(),
            schema,
        }],
        options: Options::default(),
    }
}

/// The same request as raw bytes, on its own connection.
struct Bare {
    stream: TcpStream,
    request: Vec<u8>,
}

impl Bare {
    fn of(provider: &provider::Provider) -> Result<Self> {
        let asked = provider.asked();
        let asked = asked.first().context("no request to repeat")?;
        let address = provider.url().replace("http://", "");
        let stream = TcpStream::connect(&address)?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            asked.path,
            asked.bytes.len()
        );
        let request = [head.as_bytes(), &asked.bytes].concat();
        Ok(Self { stream, request })
    }

    fn exchange(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        self.stream.write_all(&self.request)?;
        let mut answer = Vec::new();
        let mut piece = [0; 16_384];
        while !answer.ends_with(END) {
            let bytes = self.stream.read(&mut piece)?;
            ensure!(bytes > 0, "the provider has gone");
            answer.extend_from_slice(piece.get(..bytes).unwrap_or_default());
        }
        Ok(begun.elapsed())
    }
}
