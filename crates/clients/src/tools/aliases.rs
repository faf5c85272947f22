//! Arguments of tools for which a client has several names.

use std::borrow::Cow;

use serde_json::Value;

use crate::client::ClientId;

/// A row: the tool, the client's name of an argument, and the name that its shape uses.
type Alias = (&'static str, &'static str, &'static str);

const CODEX: &[Alias] = &[
    ("write_stdin", "chars", "input"),
    ("exec_command", "cmd", "command"),
    ("exec_command", "workdir", "directory"),
    ("unified_exec", "cmd", "command"),
    ("unified_exec", "workdir", "directory"),
    ("shell", "workdir", "directory"),
    ("shell_command", "workdir", "directory"),
    ("container.exec", "workdir", "directory"),
    ("local_shell", "workdir", "directory"),
    ("local_shell", "working_directory", "directory"),
];

const GEMINI: &[Alias] = &[
    ("run_shell_command", "dir_path", "directory"),
    ("replace", "allow_multiple", "expected_replacements"),
    ("replace", "absolute_path", "file_path"),
    ("write_file", "absolute_path", "file_path"),
];

const COPILOT: &[Alias] = &[
    ("apply_patch", "input", "command"),
    ("apply_patch", "patch", "command"),
];

const CURSOR: &[Alias] = &[
    ("Shell", "working_directory", "directory"),
    ("Shell", "cwd", "directory"),
    ("Read", "target_file", "file_path"),
    ("Write", "path", "file_path"),
    ("Write", "target_file", "file_path"),
    ("Write", "contents", "content"),
    ("Write", "code_edit", "content"),
    ("Edit", "path", "file_path"),
    ("Edit", "target_file", "file_path"),
    ("StrReplace", "path", "file_path"),
    ("StrReplace", "target_file", "file_path"),
    ("Delete", "path", "file_path"),
    ("Delete", "target_file", "file_path"),
    ("EditNotebook", "target_notebook", "notebook_path"),
    ("EditNotebook", "path", "notebook_path"),
    ("Glob", "glob_pattern", "pattern"),
    ("Glob", "target_directory", "path"),
    ("Grep", "target_directory", "path"),
    ("LS", "target_directory", "path"),
    ("ApplyPatch", "patch", "command"),
    ("ApplyPatch", "input", "command"),
];

const OPENCODE: &[Alias] = &[("bash", "workdir", "directory")];

/// Renames the arguments to the names that the tool's shape uses.
pub(super) fn renamed<'a>(
    client: ClientId,
    tool: &str,
    input: &'a Value,
) -> Result<Cow<'a, Value>, String> {
    let table = match client {
        ClientId::ClaudeCode => &[],
        ClientId::Codex => CODEX,
        ClientId::Gemini => GEMINI,
        ClientId::Copilot => COPILOT,
        ClientId::Cursor => CURSOR,
        ClientId::Opencode => OPENCODE,
    };
    let mut renamed = Cow::Borrowed(input);
    for (_, theirs, ours) in table.iter().filter(|(known, ..)| *known == tool) {
        let said = |field: &str| input.get(field).filter(|value| !value.is_null());
        let Some(value) = said(theirs) else { continue };
        if said(ours).is_some_and(|other| other != value) {
            return Err(format!(
                "`{theirs}` and `{ours}` of `{tool}` say two different things"
            ));
        }
        if let Value::Object(fields) = renamed.to_mut() {
            if fields
                .get(*ours)
                .is_some_and(|other| !other.is_null() && other != value)
            {
                return Err(format!("`{tool}` names `{ours}` twice, with two values"));
            }
            fields.insert((*ours).to_owned(), value.clone());
        }
    }
    Ok(renamed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_is_found_under_every_name_of_it() {
        let rows = [
            (
                ClientId::Gemini,
                "run_shell_command",
                json!({"command": "ls", "dir_path": "a"}),
                "directory",
                json!("a"),
            ),
            (
                ClientId::Gemini,
                "replace",
                json!({"allow_multiple": true}),
                "expected_replacements",
                json!(true),
            ),
            (
                ClientId::Cursor,
                "Delete",
                json!({"path": "a"}),
                "file_path",
                json!("a"),
            ),
            (
                ClientId::Cursor,
                "Write",
                json!({"file_path": "a", "path": "a"}),
                "file_path",
                json!("a"),
            ),
            (
                ClientId::Codex,
                "write_stdin",
                json!({"chars": "x"}),
                "input",
                json!("x"),
            ),
            (
                ClientId::Opencode,
                "bash",
                json!({"workdir": "/x"}),
                "directory",
                json!("/x"),
            ),
        ];
        for (client, tool, input, field, value) in rows {
            let seen = renamed(client, tool, &input);
            assert_eq!(
                seen.map(|seen| seen.get(field).cloned()),
                Ok(Some(value)),
                "{input}"
            );
        }
    }

    #[test]
    fn two_names_with_two_values_are_refused() {
        let inputs = [
            ("Write", json!({"file_path": "a", "path": "b"})),
            ("Write", json!({"target_file": "a", "path": "b"})),
            ("Shell", json!({"cwd": "a", "working_directory": "b"})),
        ];
        for (tool, input) in inputs {
            assert!(renamed(ClientId::Cursor, tool, &input).is_err(), "{input}");
        }
    }
}
