//! OpenTelemetry spans named `execute_tool`, in OTLP's JSON format.

use serde_json::Value;

use crate::{
    json::{items, length, parsed, text_of, word},
    session::Ended,
    transcript::Transcript,
};

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    let resources = items(record, "resourceSpans").iter();
    let scopes = resources.flat_map(|resource| items(resource, "scopeSpans"));
    for scope in scopes.chain(items(record, "scopeSpans")) {
        for span in items(scope, "spans") {
            read(into, span);
        }
    }
    into.calls.sort_by_key(|call| call.at_ms);
}

fn read(into: &mut Transcript, span: &Value) {
    let operation = attribute(span, "gen_ai.operation.name").and_then(Value::as_str);
    let name = word(span, "name");
    if operation != Some("execute_tool") && !name.starts_with("execute_tool") {
        return;
    }
    let conversation = attribute(span, "gen_ai.conversation.id").and_then(Value::as_str);
    if into.session.is_empty() {
        into.session = conversation.unwrap_or(word(span, "traceId")).to_owned();
    }
    let tool = attribute(span, "gen_ai.tool.name").and_then(Value::as_str);
    let tool = tool.or_else(|| name.strip_prefix("execute_tool "));
    let id = attribute(span, "gen_ai.tool.call.id").and_then(Value::as_str);
    let id = id.unwrap_or(word(span, "spanId")).to_owned();
    let arguments = attribute(span, "gen_ai.tool.call.arguments").map(value_of);
    let input = match arguments {
        Some(Value::String(text)) => parsed(&text),
        other => other.unwrap_or(Value::Null),
    };
    let result = attribute(span, "gen_ai.tool.call.result").map(value_of);
    let start = span.get("startTimeUnixNano").and_then(nanos);
    let code = span.pointer("/status/code");
    let failed = code.and_then(Value::as_u64) == Some(2)
        || code.and_then(Value::as_str) == Some("STATUS_CODE_ERROR");
    if let Some(call) = into.begin(&id, tool.unwrap_or_default(), input) {
        call.at_ms = start.map(|nanos| nanos / 1_000_000);
        call.bytes = result.map_or(0, |result| length(&text_of(&result)));
        // An unset status has no meaning.
        call.ended = if failed {
            Ended::Failed
        } else {
            Ended::Unknown
        };
    }
}

/// Returns the value of an attribute, without its wrapper.
fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let found = items(span, "attributes").iter();
    let value = found
        .filter(|one| word(one, "key") == key)
        .find_map(|one| one.get("value"))?;
    value.get("stringValue").or(Some(value))
}

/// Unwraps a value of any kind.
fn value_of(value: &Value) -> Value {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let inner = fields.values().next();
    match (fields.keys().next().map(String::as_str), inner) {
        (Some("kvlistValue"), Some(list)) => {
            let pairs = items(list, "values").iter();
            pairs
                .map(|pair| {
                    let value = pair.get("value").map_or(Value::Null, value_of);
                    (word(pair, "key").to_owned(), value)
                })
                .collect()
        }
        (Some("arrayValue"), Some(list)) => items(list, "values").iter().map(value_of).collect(),
        (Some("intValue"), Some(Value::String(text))) => parsed(text),
        (Some(_), Some(inner)) => inner.clone(),
        _ => Value::Null,
    }
}

fn nanos(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}
