//! Code of Interlock that a client loads, with the mark of `init` and the program that it calls.

use serde_json::{Value, json};

use super::{
    MARK,
    hooks::BY_PLUGIN,
    words::{Ending, NAME, SHELL},
};

/// Start of the line that names the program to call.
const NAMES: &str = "const PROGRAM = ";

/// Returns `code` with the program to call, as a file that `init` recognizes as its own.
pub(crate) fn written(code: &str, program: &str) -> String {
    let program = Value::from(program);
    let mark = format!("//{MARK}");
    let lines = code.lines().skip_while(|line| *line == mark).map(|line| {
        if line.starts_with(NAMES) {
            let end = if line.ends_with(';') { ";" } else { "" };
            format!("{NAMES}{program}{end}")
        } else {
            line.to_owned()
        }
    });
    let lines: Vec<String> = std::iter::once(mark.clone()).chain(lines).collect();
    format!("{}\n", lines.join("\n"))
}

/// Start of the lines that differ in a plugin: the words around a call, and the control server.
const BEFORE: &str = "const BEFORE = ";
const BEHIND: &str = "const BEHIND = ";
const SERVER: &str = "const SERVER = ";

/// Returns `code` in the form of a plugin: it finds the program on the `PATH`, and marks its calls.
pub(crate) fn packaged(code: &str, mark: &str, server: &[&str]) -> String {
    let [shell, option] = SHELL;
    let script = Ending::FoundOrUnguarded.script();
    let lines = code.lines().map(|line| {
        let end = if line.ends_with(';') { ";" } else { "" };
        let values = [
            (NAMES, Value::from(shell)),
            (BEFORE, json!([option, script, NAME, NAME])),
            (BEHIND, json!([BY_PLUGIN])),
            (SERVER, json!(server)),
        ];
        let found = values.iter().find(|(begins, _)| line.starts_with(begins));
        found.map_or_else(
            || line.to_owned(),
            |(begins, value)| format!("{begins}{value}{end}"),
        )
    });
    let lines: Vec<String> = std::iter::once(format!("// {mark}")).chain(lines).collect();
    format!("{}\n", lines.join("\n"))
}

/// Finds the program that such code calls.
pub(crate) fn program_in(code: &str) -> Option<String> {
    let line = code.lines().find_map(|line| line.strip_prefix(NAMES))?;
    let mut values = serde_json::Deserializer::from_str(line).into_iter::<String>();
    values.next()?.ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::{MARK, program_in, written};
    use crate::{claude_code::plugin::CODE, opencode::PLUGIN};

    #[test]
    fn the_code_calls_the_program_that_was_asked_for() {
        let program = "/opt/my \"tools\"; x/interlock";
        for code in [CODE, PLUGIN] {
            let text = written(code, program);
            assert_eq!(program_in(&text).unwrap(), program);
            assert!(!text.contains("const PROGRAM = \"interlock\""));
            // Writing it again gives the same text.
            assert_eq!(written(&text, program), text);
            // In its original form, it would call whatever is on the PATH.
            assert_eq!(program_in(code).as_deref(), Some("interlock"));
            assert_eq!(text.matches(MARK).count(), 1);
        }
    }
}
