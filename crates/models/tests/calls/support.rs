//! Shared code of these tests: providers, conversations, a clock that does not wait.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use interlock_models::{
    Answer, Client, Clock, Heard, Key, Kind, Message, ModelError, Provider, Request, RetryPolicy,
    ToolResult, ToolSpec, Waited,
};
use interlock_process::Cancel;
use interlock_testkit::provider;
use serde_json::json;

/// The key for every provider in these tests.
pub(crate) const KEY: &str = "sk-ant-0123456789-never-shown";

/// A provider that checks each request against its kind's published schema.
#[derive(Debug)]
pub(crate) struct Strict(provider::Provider);

impl Strict {
    pub(crate) fn start(script: provider::Script) -> Self {
        Self(provider::Provider::start(script).unwrap())
    }
}

impl std::ops::Deref for Strict {
    type Target = provider::Provider;

    fn deref(&self) -> &provider::Provider {
        &self.0
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.asked().iter().for_each(hold);
        }
    }
}

/// Checks a request against the schema of its kind, in `tests/schemas`.
fn hold(asked: &provider::ModelRequest) {
    static SCHEMAS: std::sync::OnceLock<[jsonschema::Validator; 4]> = std::sync::OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        let texts = [
            include_str!("../schemas/anthropic.json"),
            include_str!("../schemas/openai.json"),
            include_str!("../schemas/gemini.json"),
            include_str!("../schemas/ollama.json"),
        ];
        texts.map(|text| jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap())
    });
    let schema = match asked.wire {
        provider::Wire::Anthropic => &schemas[0],
        provider::Wire::OpenAi => &schemas[1],
        provider::Wire::Gemini => &schemas[2],
        provider::Wire::Ollama => &schemas[3],
        provider::Wire::Responses => panic!("the client does not speak it"),
    };
    let flaws: Vec<String> = schema
        .iter_errors(&asked.body)
        .map(|flaw| format!("{}: {flaw}", flaw.instance_path()))
        .collect();
    assert!(
        flaws.is_empty(),
        "{:?}: {flaws:#?}\n{:#}",
        asked.wire,
        asked.body
    );
}

/// A clock whose waits end at once and are recorded.
#[derive(Debug, Default)]
pub(crate) struct Fast {
    now_ms: AtomicU64,
    waits: Mutex<Vec<Duration>>,
}

impl Fast {
    pub(crate) fn at(now_ms: u64) -> Arc<Self> {
        let clock = Self::default();
        clock.now_ms.store(now_ms, Ordering::SeqCst);
        Arc::new(clock)
    }

    /// Returns the recorded waits, in milliseconds.
    pub(crate) fn waits_ms(&self) -> Vec<u128> {
        let waits = self.waits.lock().unwrap();
        waits.iter().map(Duration::as_millis).collect()
    }
}

impl Clock for Fast {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn wait(&self, time: Duration, cancel: &Cancel) -> Waited {
        self.waits.lock().unwrap().push(time);
        let ms = u64::try_from(time.as_millis()).unwrap();
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
        if cancel.is_cancelled() {
            Waited::Cancelled
        } else {
            Waited::Over
        }
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Anthropic, Kind::OpenAi, Kind::Gemini, Kind::Ollama];

pub(crate) fn wire(kind: Kind) -> provider::Wire {
    match kind {
        Kind::Anthropic => provider::Wire::Anthropic,
        Kind::OpenAi => provider::Wire::OpenAi,
        Kind::Gemini => provider::Wire::Gemini,
        Kind::Ollama => provider::Wire::Ollama,
    }
}

pub(crate) fn model(kind: Kind) -> &'static str {
    match kind {
        Kind::Anthropic => "claude-sonnet-4-5",
        Kind::OpenAi => "gpt-5",
        Kind::Gemini => "gemini-2.5-pro",
        Kind::Ollama => "llama3.2",
    }
}

pub(crate) fn at(kind: Kind, url: &str) -> Provider {
    let key = (kind != Kind::Ollama).then(|| Key::new(KEY).unwrap());
    Provider::new(kind, Some(url), key).unwrap()
}

/// Returns a conversation of one message with one tool.
pub(crate) fn request(kind: Kind) -> Request {
    Request {
        model: model(kind).to_owned(),
        system: "You are thorough.".to_owned(),
        messages: vec![Message::user("Begin.")],
        tools: vec![ToolSpec {
            name: "Read".to_owned(),
            description: "Reads a file.".to_owned(),
            schema: json!({"type": "object", "required": ["file_path"], "additionalProperties": false,
                "properties": {"file_path": {"type": "string"}}}),
        }],
        options: interlock_models::Options::default(),
    }
}

/// Answers every call in `answer` with `content`, and continues the conversation.
pub(crate) fn follow(request: &mut Request, answer: &Answer, content: &str) {
    request.messages.push(answer.message());
    let results: Vec<ToolResult> = answer
        .calls()
        .enumerate()
        .map(|(call, _)| ToolResult {
            call,
            content: content.to_owned(),
            is_error: false,
        })
        .collect();
    if !results.is_empty() {
        request.messages.push(Message::Results { results });
    }
}

/// Makes a call; also returns the received parts: texts as they are, everything else by name.
pub(crate) fn call(
    client: &Client,
    provider: &Provider,
    request: &Request,
    retry: &RetryPolicy,
) -> (Result<Answer, ModelError>, Vec<String>) {
    let mut heard = Vec::new();
    let answer = client.call(
        provider,
        request,
        retry,
        &Cancel::new().unwrap(),
        &mut |one| {
            heard.push(match one {
                Heard::Text(text) => text.to_owned(),
                Heard::Thinking(text) => format!("thinking {text}"),
                Heard::Calling(name) => format!("calling {name}"),
                Heard::Again {
                    try_number,
                    failure,
                    wait,
                } => {
                    format!(
                        "again after {try_number}: {failure} ({} ms)",
                        wait.as_millis()
                    )
                }
            });
        },
    );
    (answer, heard)
}
