//! Logs of Interlock: events of the store, or the output of `interlock log --json`.

use interlock_core::{
    event::{CallRecord, Event},
    names::{AgentId, CallId, Digest},
    refusal::Code,
};
use serde_json::Value;

use crate::{
    Format,
    json::{text, word},
    session::{Ended, Session},
    time,
    transcript::Transcript,
};

/// Reads the calls of a log, with the time when each event was recorded.
///
/// # Errors
/// Fails like reading the log.
pub fn of_events<E>(
    source: &str,
    events: impl IntoIterator<Item = Result<(u64, Event), E>>,
) -> Result<Session, E> {
    let mut into = Transcript::new(Format::Interlock, source);
    for event in events {
        let (at_ms, event) = event?;
        match event {
            Event::RunStarted { run, .. } => into.session = run.to_string(),
            Event::CallAllowed { call, .. } => begin(&mut into, call, Some(at_ms), Ended::Unknown),
            Event::CallDenied { call, .. } => begin(&mut into, call, Some(at_ms), Ended::NotRun),
            Event::CallEnded {
                call,
                ok,
                exit,
                bytes,
                ..
            } => end(&mut into, call.as_str(), ok, exit, bytes),
            _ => {}
        }
    }
    Ok(crate::join::alone(into))
}

fn begin(into: &mut Transcript, record: CallRecord, at_ms: Option<u64>, ended: Ended) {
    let input = serde_json::from_str(&record.summary).unwrap_or(Value::Null);
    if let Some(call) = into.begin(record.id.as_str(), &record.tool, input) {
        call.at_ms = at_ms;
        call.agent = record.agent.as_ref().map(ToString::to_string);
        call.ended = ended;
        call.record = Some(Box::new(record));
    }
}

fn end(into: &mut Transcript, id: &str, ok: bool, exit: Option<i64>, bytes: u64) {
    let Some(call) = into.call(id) else { return };
    call.ended = if ok { Ended::Well } else { Ended::Failed };
    call.exit = exit;
    call.bytes = bytes;
}

/// Reads a line of the output of `interlock log --json`.
pub(crate) fn record(into: &mut Transcript, record: &Value) {
    let at_ms = time::of_value(record.get("at"));
    match word(record, "event") {
        "RunStarted" => into.session = text(record, "run").unwrap_or_default(),
        kind @ ("CallAllowed" | "CallDenied") => {
            let call = record.get("call").unwrap_or(&Value::Null);
            let record = CallRecord {
                id: CallId::new(word(call, "id")),
                tool: word(call, "tool").to_owned(),
                digest: Digest::new(word(call, "digest")),
                summary: word(call, "summary").to_owned(),
                agent: text(call, "agent").map(AgentId::new),
            };
            let ended = if kind == "CallDenied" {
                Ended::NotRun
            } else {
                Ended::Unknown
            };
            begin(into, record, at_ms, ended);
        }
        "CallEnded" => {
            let ok = record.get("ok") == Some(&Value::Bool(true));
            let exit = record.get("exit").and_then(Value::as_i64);
            let bytes = record.get("bytes").and_then(Value::as_u64);
            end(
                into,
                word(record, "call"),
                ok,
                exit,
                bytes.unwrap_or_default(),
            );
        }
        _ => {}
    }
}

/// Number of characters at the beginning of a result in which a refusal of Interlock names its code.
const CODE_WITHIN: usize = 160;

/// Returns whether a result is a refusal of Interlock, which some clients report like any failure.
pub(crate) fn is_refusal(said: &str) -> bool {
    let head: String = said.chars().take(CODE_WITHIN).collect();
    head.split_whitespace()
        .filter_map(|word| word.strip_suffix(':'))
        .any(|word| serde_json::from_value::<Code>(word.into()).is_ok())
}
