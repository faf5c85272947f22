//! Errors of providers: their messages and meanings.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use crate::{
    Provider,
    error::{Code, Failure},
};

/// Maximum number of characters of a provider's message that are passed on.
const SAID_CHARS_MAX: usize = 500;
/// Number of characters after which a word with the beginning of the key counts as a part of it.
const KEY_BEGIN_CHARS: usize = 6;
/// Messages with which providers report that a conversation is too long, in lower case.
const OVERFLOWS: [&str; 16] = [
    // Anthropic.
    "prompt is too long",
    "exceed context limit",
    "request_too_large",
    // OpenAI and compatible.
    "context_length_exceeded",
    "maximum context length",
    "exceeds the context window",
    "exceed_context_size",
    "context window exceeds",
    "exceeds the available context size",
    "reduce the length of the messages",
    "prompt contains too many tokens",
    // Gemini.
    "exceeds the maximum number of tokens",
    "input token count exceeds",
    // Ollama.
    "exceeds the context length",
    "exceeds maximum context length",
    "exceeded max context length",
];

/// Returns whether an error is about the length of the conversation.
pub(crate) fn is_overflow(kind: &str, said: &str) -> bool {
    let text = format!("{kind} {said}").to_ascii_lowercase();
    OVERFLOWS.iter().any(|words| text.contains(words))
}

/// Interprets an unsuccessful answer by its status.
pub(crate) fn by_status(
    provider: &Provider,
    status: u16,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Failure {
    let (kind, said) = sentence(body);
    // For a body that is too large, a server may send only the status.
    let is_too_long = status == 413 || (is_client(status) && is_overflow(&kind, &said));
    let is_passing = !is_too_long && matches!(status, 408 | 409 | 429 | 500..=599);
    let place = place(provider);
    let what = match status {
        200 => ", and not with a stream",
        300..=399 => " with a redirect, which is not followed: correct its address",
        _ => "",
    };
    let kind = if kind.is_empty() {
        kind
    } else {
        format!(" ({kind})")
    };
    let said = if said.is_empty() {
        said
    } else {
        format!(": {said}")
    };
    Failure {
        code: if is_too_long {
            Code::ContextOverflow
        } else {
            Code::ModelError
        },
        message: scrub(
            provider,
            &format!("{place} answered {status}{kind}{what}{said}"),
        ),
        status: Some(status),
        is_passing,
        retry_after,
    }
}

const fn is_client(status: u16) -> bool {
    matches!(status, 400..=499)
}

/// Interprets an error in the middle of a stream.
pub(crate) fn in_stream(error: &Value) -> Failure {
    let (kind, said) = of_error(error);
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let status = error.get("code").and_then(number);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let is_too_long = is_overflow(&kind, &said);
    let is_lasting =
        status.is_some_and(|status| is_client(status) && !matches!(status, 408 | 409 | 429));
    let kind = if kind.is_empty() {
        kind
    } else {
        format!(" ({kind})")
    };
    Failure {
        code: if is_too_long {
            Code::ContextOverflow
        } else {
            Code::ModelError
        },
        message: format!("the provider ended the answer{kind}: {said}"),
        status,
        is_passing: !is_too_long && !is_lasting,
        retry_after: None,
    }
}

/// Returns the kind and the message in an error's body.
fn sentence(body: &[u8]) -> (String, String) {
    let read: Option<Value> = serde_json::from_slice(body).ok();
    let Some(read) = read else {
        let text = String::from_utf8_lossy(body);
        let is_page = text.trim_start().starts_with('<');
        return (
            String::new(),
            if is_page { String::new() } else { plain(&text) },
        );
    };
    let read = read.get(0).unwrap_or(&read);
    match read.get("error") {
        Some(error) => of_error(error),
        None => of_error(read),
    }
}

fn of_error(error: &Value) -> (String, String) {
    let word = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = ["type", "status", "code"].map(word);
    // OpenAI's code is more specific than its type.
    let kind = match kind {
        [_, _, code] if !code.is_empty() => code,
        [kind, status, _] => {
            if status.is_empty() {
                kind
            } else {
                status
            }
        }
    };
    let said = match error {
        Value::String(text) => text.clone(),
        _ => ["message", "error", "detail"]
            .into_iter()
            .filter_map(|key| error.get(key))
            .map(|said| {
                said.as_str()
                    .map_or_else(|| said.to_string(), str::to_owned)
            })
            .next()
            .unwrap_or_default(),
    };
    (plain(kind), plain(&said))
}

/// Removes everything except plain text from a message, and cuts it.
fn plain(text: &str) -> String {
    let letters = text.trim().chars();
    let letters = letters.map(|letter| if letter.is_control() { ' ' } else { letter });
    letters.take(SAID_CHARS_MAX).collect()
}

/// Returns the host and port, for messages.
pub(crate) fn place(provider: &Provider) -> String {
    let host = provider.base.host_str().unwrap_or_default();
    match provider.base.port() {
        Some(port) => format!("`{host}:{port}`"),
        None => format!("`{host}`"),
    }
}

/// Removes keys from a message, including parts that a provider has quoted.
pub(crate) fn scrub(provider: &Provider, text: &str) -> String {
    let values = provider
        .headers
        .iter()
        .filter_map(|(_, value)| value.to_str().ok());
    let values = values.flat_map(|value| [Some(value), value.split_once(' ').map(|(_, key)| key)]);
    let key = provider.key.as_ref().map(crate::Key::secret);
    // Short values are not keys, and would make holes everywhere.
    let secrets: Vec<&str> = values
        .flatten()
        .chain(key)
        .filter(|secret| secret.chars().count() >= KEY_BEGIN_CHARS)
        .collect();
    let mut text = text.to_owned();
    for secret in &secrets {
        text = text.replace(secret, "(key)");
    }
    let is_part = |word: &str| {
        secrets.iter().any(|secret| {
            let begin: String = secret.chars().take(KEY_BEGIN_CHARS).collect();
            word.contains(&begin)
        })
    };
    let words = text.split_inclusive(char::is_whitespace).map(|word| {
        if is_part(word) {
            let space = word.chars().last().filter(|last| last.is_whitespace());
            format!("(key){}", space.map_or_else(String::new, String::from))
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

/// Parses how long a provider asks to wait; `now_ms` is milliseconds since 1970.
pub(crate) fn retry_after(
    value: Option<&str>,
    milliseconds: Option<&str>,
    now_ms: u64,
) -> Option<Duration> {
    let now = UNIX_EPOCH.checked_add(Duration::from_millis(now_ms))?;
    milliseconds
        .and_then(interlock_http::retry_after_ms)
        .or_else(|| interlock_http::retry_after(value?, now))
}
