//! An MCP server over stdio with one tool, `ping`, which answers `pong:` and its argument.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).map_err(io::Error::other)?;
        let Some(id) = message.get("id") else {
            continue;
        };
        let mut answer = reply(&message);
        if let Some(answer) = answer.as_object_mut() {
            answer.insert("jsonrpc".to_owned(), json!("2.0"));
            answer.insert("id".to_owned(), id.clone());
        }
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

fn reply(message: &Value) -> Value {
    let at = |pointer: &str| message.pointer(pointer).cloned().unwrap_or(Value::Null);
    match message.get("method").and_then(Value::as_str) {
        Some("initialize") => json!({"result": {
            "protocolVersion": at("/params/protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub", "version": "1"},
        }}),
        Some("tools/list") => json!({"result": {"tools": [{
            "name": "ping",
            "description": "Answers.",
            "inputSchema": {"type": "object", "properties": {"say": {"type": "string"}}},
        }]}}),
        Some("tools/call") => {
            let said = at("/params/arguments/say");
            let text = format!("pong:{}", said.as_str().unwrap_or_default());
            json!({"result": {"content": [{"type": "text", "text": text}], "isError": false}})
        }
        Some("ping") => json!({"result": {}}),
        _ => json!({"error": {"code": -32601, "message": "method not found"}}),
    }
}
