//! Texts stored beside a log: messages to and from models, to which events refer by digest.

use std::sync::Arc;

use axum::extract::{Path, State};
use interlock_core::{
    event::Event,
    names::{Digest, RunId},
};
use interlock_store::RunLog;
use serde_json::{Value, json};

use crate::{
    reply::{Answered, Problem, json_reply},
    shared::Shared,
};

/// Maximum number of characters of one text that are sent.
const TEXT_CHARS_MAX: usize = 200_000;
/// Maximum number of digests of one event that are looked up.
const DIGESTS_MAX: usize = 20;

/// Returns the text with a digest, with secrets masked and JSON indented.
pub(super) async fn blob(
    State(shared): State<Arc<Shared>>,
    Path((id, digest)): Path<(String, String)>,
) -> Answered {
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let Some(bytes) = read(&log, &digest) else {
                return Err(Problem::unknown(format!(
                    "nothing with the digest `{digest}` is stored with the log"
                )));
            };
            let text = match serde_json::from_slice::<Value>(&bytes) {
                Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
                Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
            };
            let text = shared.secrets.masked(&text);
            let cut = text.char_indices().nth(TEXT_CHARS_MAX);
            let shown = cut.map_or(&*text, |(end, _)| text.get(..end).unwrap_or_default());
            Ok(json!({ "bytes": bytes.len(), "text": shown, "cut": cut.is_some() }))
        })
        .await?;
    json_reply(&found)
}

fn read(log: &RunLog, digest: &str) -> Option<Vec<u8>> {
    log.messages().read(&Digest::new(digest)).ok()
}

/// Lists the digests in an event whose texts are stored beside the log, each with its key in the event.
pub(super) fn named(log: &RunLog, event: &Event) -> Vec<Value> {
    let mut found = Vec::new();
    let Ok(event) = serde_json::to_value(event) else {
        return found;
    };
    let mut open = vec![("", &event)];
    let mut tried = 0_usize;
    while let Some((key, value)) = open.pop() {
        match value {
            Value::String(text) if is_digest(text) && tried < DIGESTS_MAX => {
                tried += 1;
                if read(log, text).is_some() {
                    found.push(json!({ "name": key, "digest": text }));
                }
            }
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (key, item))),
            Value::Object(fields) => {
                open.extend(
                    fields
                        .iter()
                        .rev()
                        .map(|(key, field)| (key.as_str(), field)),
                );
            }
            _ => {}
        }
    }
    found
}

/// Returns whether a text has the form of a digest.
fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
