//! Spans and log records in the JSON of OTLP.

use serde_json::{Value as Json, json};

use crate::span::{Moment, Span, Value};

/// `SPAN_KIND_INTERNAL`: the work is done here.
const INTERNAL: u8 = 1;
/// `SPAN_KIND_CLIENT`: a request to another system.
const CLIENT: u8 = 3;
/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;
/// The trace is sampled.
const SAMPLED: u32 = 1;
/// `SEVERITY_NUMBER_INFO`.
const INFO: u8 = 9;

/// The sender of the spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Names and values, such as `service.name`.
    pub attributes: Vec<(String, String)>,
}

/// Writes an `ExportTraceServiceRequest`.
#[must_use]
pub fn request(resource: &Resource, spans: &[Span]) -> Json {
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": described(resource),
        "scopeSpans": [{ "scope": scope(), "spans": spans }],
    }] })
}

/// A record of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The name of the kind of event.
    pub name: &'static str,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// The text.
    pub body: String,
    /// Names and values.
    pub attributes: Vec<(&'static str, Value)>,
}

/// Writes an `ExportLogsServiceRequest`.
#[must_use]
pub fn logs_request(resource: &Resource, records: &[LogRecord]) -> Json {
    let records: Vec<Json> = records.iter().map(record).collect();
    json!({ "resourceLogs": [{
        "resource": described(resource),
        "scopeLogs": [{ "scope": scope(), "logRecords": records }],
    }] })
}

fn record(record: &LogRecord) -> Json {
    json!({
        "timeUnixNano": nanoseconds(record.at_ms),
        "eventName": record.name,
        "severityNumber": INFO,
        "severityText": "INFO",
        "body": { "stringValue": record.body },
        "attributes": attributes(&record.attributes),
    })
}

fn described(resource: &Resource) -> Json {
    let attributes = resource.attributes.iter();
    let attributes =
        attributes.map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } }));
    json!({ "attributes": attributes.collect::<Vec<_>>() })
}

fn scope() -> Json {
    json!({ "name": "interlock", "version": env!("CARGO_PKG_VERSION") })
}

fn span(span: &Span) -> Json {
    let status = match &span.failure {
        Some(why) => json!({ "code": FAILED, "message": why }),
        None => json!({}),
    };
    let mut written = json!({
        "traceId": span.trace,
        "spanId": span.id,
        "flags": SAMPLED,
        "name": span.name,
        "kind": if span.is_call_out { CLIENT } else { INTERNAL },
        "startTimeUnixNano": nanoseconds(span.began_ms),
        "endTimeUnixNano": nanoseconds(span.ended_ms),
        "attributes": attributes(&span.attributes),
        "events": span.moments.iter().map(moment).collect::<Vec<_>>(),
        "status": status,
    });
    if let (Json::Object(object), Some(parent)) = (&mut written, &span.parent) {
        object.insert("parentSpanId".to_owned(), json!(parent));
    }
    if let (Json::Object(object), Some(link)) = (&mut written, &span.link) {
        let link = json!({"traceId": link.trace, "spanId": link.span, "flags": SAMPLED});
        object.insert("links".to_owned(), json!([link]));
    }
    written
}

fn moment(moment: &Moment) -> Json {
    json!({
        "name": moment.name,
        "timeUnixNano": nanoseconds(moment.at_ms),
        "attributes": attributes(&moment.attributes),
    })
}

fn attributes(attributes: &[(&'static str, Value)]) -> Vec<Json> {
    let written = attributes.iter().map(|(name, value)| {
        // 64-bit integers are strings in this JSON.
        let value = match value {
            Value::Text(text) => json!({ "stringValue": text }),
            Value::Number(number) => json!({ "intValue": number.to_string() }),
            Value::Flag(flag) => json!({ "boolValue": flag }),
            Value::Texts(texts) => {
                let values = texts.iter().map(|text| json!({ "stringValue": text }));
                json!({ "arrayValue": { "values": values.collect::<Vec<_>>() } })
            }
            Value::Dollars { pico } => json!({ "doubleValue": dollars(*pico) }),
        };
        json!({ "key": name, "value": value })
    });
    written.collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "collectors have no exact fractions; the log keeps the exact sum"
)]
fn dollars(pico: u64) -> f64 {
    pico as f64 / 1e12
}

fn nanoseconds(at_ms: u64) -> String {
    (u128::from(at_ms) * 1_000_000)
        .min(u128::from(u64::MAX))
        .to_string()
}
