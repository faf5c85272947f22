//! Short forms that a person types at the prompt.

use interlock_tool_names::all_names;
use serde_json::{Value, json};

/// Converts a short form to its line.
///
/// `Bash ls -la`, `Read a.py`, `tool NAME {input}`, `approve WHO`, `approve WHO with a passkey`, `reject WHO note`, `result {…}`,
/// `done VALUE`, `advance 30s`, `state`, `pause`, `resume`, `cancel`; anything else is an event with optional data: `READY {…}`.
/// A line of JSON stays unchanged.
///
/// # Errors
/// Returns which part is not JSON.
pub fn short_form(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if text.starts_with('{') {
        return json_of(text);
    }
    let (word, rest) = cut_word(text);
    let line = match word {
        "state" | "pause" | "resume" | "cancel" if rest.is_empty() => json!({ word: {} }),
        "advance" => json!({ "advance": rest }),
        "approve" => match rest.strip_suffix("with a passkey") {
            Some(by) => json!({ "approve": { "by": name_or(by.trim()), "passkey": true } }),
            None => json!({ "approve": { "by": name_or(rest) } }),
        },
        "reject" => {
            let (by, note) = cut_word(rest);
            let mut answer = json!({ "by": name_or(by) });
            if let (Some(answer), false) = (answer.as_object_mut(), note.is_empty()) {
                answer.insert("note".to_owned(), json!(note));
            }
            json!({ "reject": answer })
        }
        "result" => json!({ "result": object_of(rest)? }),
        "done" if !rest.is_empty() => json!({ "activity": { "done": json_of(rest)? } }),
        "tool" => {
            let (tool, input) = cut_word(rest);
            json!({ "tool": tool, "input": object_of(input)? })
        }
        tool if !all_names(tool).is_empty() && !rest.is_empty() => {
            json!({ "tool": tool, "input": tool_input(tool, rest)? })
        }
        event => json!({ "transition": event, "data": object_of(rest)? }),
    };
    Ok(line)
}

/// Parses what follows a tool: its arguments as JSON, or the essential one.
fn tool_input(tool: &str, rest: &str) -> Result<Value, String> {
    if rest.starts_with('{') {
        return json_of(rest);
    }
    let argument = match tool {
        "Bash" => "command",
        "Grep" | "Glob" => "pattern",
        _ => "file_path",
    };
    Ok(json!({ argument: rest }))
}

fn cut_word(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace)
        .map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn name_or(by: &str) -> &str {
    if by.is_empty() { "you" } else { by }
}

fn object_of(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        Ok(json!({}))
    } else {
        json_of(text)
    }
}

fn json_of(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}` is not valid JSON ({error})"))
}
