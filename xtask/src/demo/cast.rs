//! Writes the session as an asciinema cast, version 2: a header, then one event per line.

use serde_json::json;

use super::{COLUMNS, Line, ROWS};

pub(super) fn write(lines: &[Line]) -> String {
    let header = json!({
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "title": "interlock demo",
        "env": { "TERM": "xterm-256color", "SHELL": "/bin/sh" },
    });
    let mut text = format!("{header}\n");
    for line in lines {
        let (seconds, rest) = (line.at_ms / 1000, line.at_ms % 1000);
        let printed = json!(format!("{}\r\n", line.text));
        text.push_str(&format!("[{seconds}.{rest:03}, \"o\", {printed}]\n"));
    }
    text
}
