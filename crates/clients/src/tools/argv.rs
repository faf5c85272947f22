//! Shell tools that receive a list of words in place of a line.

use std::borrow::Cow;

use serde_json::Value;

use crate::tools::LINE;

/// Tools of Codex's older models, which start a program with a list of words.
const NAMES: [&str; 3] = ["shell", "container.exec", "local_shell"];

/// Shells that run one line, given after an option.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];

/// Writes the words of a call as an equivalent line.
pub(super) fn joined<'a>(input: Cow<'a, Value>, tool: &str) -> Cow<'a, Value> {
    if !NAMES.contains(&tool) {
        return input;
    }
    let Some(line) = input
        .get(LINE)
        .and_then(Value::as_array)
        .and_then(|words| line(words))
    else {
        return input;
    };
    let mut input = input;
    if let Value::Object(fields) = input.to_mut() {
        fields.insert(LINE.to_owned(), line.into());
    }
    input
}

/// Returns the line; `None` if not all items are words.
fn line(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    match words.as_slice() {
        [] => None,
        [shell, "-c" | "-lc", line] if SHELLS.contains(shell) => Some((*line).to_owned()),
        words => Some(
            words
                .iter()
                .map(|word| crate::line::quoted(word))
                .collect::<Vec<_>>()
                .join(" "),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_read_as_the_line_that_does_the_same() {
        let rows = [
            (json!(["bash", "-lc", "git status"]), json!("git status")),
            (json!(["ls", "a b", "it's"]), json!(r"'ls' 'a b' 'it'\''s'")),
            (
                json!(["bash", "-lc", "a", "b"]),
                json!("'bash' '-lc' 'a' 'b'"),
            ),
            (json!([]), json!([])),
            (json!(["ls", 1]), json!(["ls", 1])),
            (json!("ls"), json!("ls")),
        ];
        for (command, line) in rows {
            let input = json!({ "command": command });
            let seen = joined(Cow::Borrowed(&input), "shell");
            assert_eq!(seen.get("command"), Some(&line));
            let other = joined(Cow::Borrowed(&input), "Bash");
            assert_eq!(other.get("command"), Some(&command));
        }
    }
}
