//! The diagnostics of a document, as shown by a client.

use interlock_formats::{Diagnostic, Severity};
use serde_json::{Value, json};

use crate::{answer::range, document::Document, message::notification};

/// The maximum number of diagnostics of a document; `interlock check --json` lists all.
const DIAGNOSTICS_MAX: usize = 1_000;

/// Returns the notification for a document; an empty list clears earlier diagnostics.
pub(crate) fn publish(uri: &str, document: &Document, found: &[Diagnostic]) -> Value {
    let shown: Vec<Value> = found
        .iter()
        .take(DIAGNOSTICS_MAX)
        .map(|one| diagnostic(document, one))
        .collect();
    notification(
        "textDocument/publishDiagnostics",
        json!({ "uri": uri, "version": document.version, "diagnostics": shown }),
    )
}

/// Returns the notification that clears the diagnostics of a document.
pub(crate) fn clear(uri: &str) -> Value {
    notification(
        "textDocument/publishDiagnostics",
        json!({ "uri": uri, "diagnostics": [] }),
    )
}

fn diagnostic(document: &Document, found: &Diagnostic) -> Value {
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Note => 3,
    };
    let is_here = found.file == document.name;
    let mut message = found.message.clone();
    if !is_here {
        message = format!("{}:{}: {message}", found.file, found.line);
    }
    if let Some(help) = &found.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    let span = if is_here { found.span.clone() } else { 0..0 };
    json!({
        "range": range(&document.text, &span),
        "severity": severity,
        "code": found.code,
        "source": "interlock",
        "message": message,
    })
}
