//! Reads the bytes of one file.

use serde_json::Value;

use crate::{
    Format, atif, claude_code, codex, copilot, gemini, json::lines, opencode, otel, own,
    transcript::Transcript,
};

/// Reads one recording; returns `None` if it has no known format.
///
/// This function is total: unreadable parts are counted. `source` names it, `told` is its format, if known.
#[must_use]
pub fn read(source: &str, bytes: &[u8], told: Option<Format>) -> Option<Transcript> {
    if let Ok(whole) = serde_json::from_slice::<Value>(bytes) {
        let format = told.or_else(|| Format::of(&whole))?;
        let mut into = Transcript::new(format, source);
        record(&mut into, &whole);
        return Some(into);
    }
    let mut format = told;
    let mut waiting: Vec<Value> = Vec::new();
    let mut broken = 0;
    let mut into: Option<Transcript> = None;
    for line in lines(bytes) {
        let Ok(line) = line else {
            broken += 1;
            continue;
        };
        if let Some(into) = &mut into {
            record(into, &line);
            continue;
        }
        format = format.or_else(|| Format::of(&line));
        waiting.push(line);
        let Some(format) = format else {
            if waiting.len() >= UNTOLD_MAX {
                return None;
            }
            continue;
        };
        let into = into.insert(Transcript::new(format, source));
        for line in waiting.drain(..) {
            record(into, &line);
        }
    }
    let mut into = into?;
    into.losses.broken = broken;
    Some(into)
}

/// Maximum number of records before one that shows the format of the file.
const UNTOLD_MAX: usize = 100;

fn record(into: &mut Transcript, record: &Value) {
    if !record.is_object() {
        into.miss("(no object)");
        return;
    }
    match into.format {
        Format::Interlock => own::record(into, record),
        Format::ClaudeCode => claude_code::record(into, record),
        Format::Codex => codex::record(into, record),
        Format::Gemini => gemini::record(into, record),
        Format::Copilot => copilot::record(into, record),
        Format::Opencode => opencode::record(into, record),
        Format::Atif => atif::record(into, record),
        Format::Otel => otel::record(into, record),
    }
}
