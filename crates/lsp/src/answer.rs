//! Parts of answers that several requests share.

use std::ops::Range;

use serde_json::{Value, json};

use crate::text::{Position, Text};

/// Returns the range of some bytes of a text.
pub(crate) fn range(text: &Text, bytes: &Range<usize>) -> Value {
    let end = bytes.end.max(bytes.start);
    json!({
        "start": position(text.position(bytes.start)),
        "end": position(text.position(end)),
    })
}

fn position(at: Position) -> Value {
    json!({ "line": at.line, "character": at.character })
}

/// Returns text as Markdown content.
pub(crate) fn markdown(text: &str) -> Value {
    json!({ "kind": "markdown", "value": text })
}
