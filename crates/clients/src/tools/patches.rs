//! Patches that Codex takes out of a shell line and applies itself.
//!
//! No process runs for such a line, so it is judged as the patch it is. In any other form it is refused, because what it would
//! write is unknown.

use serde_json::{Value, json};

/// The names under which a shell line reaches the patch tool.
const NAMES: [&str; 2] = ["apply_patch", "applypatch"];

/// Returns the arguments of the patch tool that a line of `tool` calls; `None` if it calls none.
pub(super) fn in_line(tool: &str, input: &Value) -> Option<Result<Value, String>> {
    if tool == "apply_patch" {
        return None;
    }
    let line = input.get("command").and_then(Value::as_str)?;
    let (directory, rest) = changed_directory(line.trim());
    let rest = NAMES.iter().find_map(|name| rest.strip_prefix(name))?;
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let patch = quoted(rest.trim()).or_else(|| here_document(rest.trim_start()));
    Some(match (patch, directory) {
        (Some(patch), None) => Ok(json!({ "command": patch })),
        (Some(_), Some(_)) => Err(
            "a patch in another directory cannot be judged: call `apply_patch` from where the session is"
                .to_owned(),
        ),
        (None, _) => Err(
            "what this line gives to `apply_patch` cannot be read: call the tool itself".to_owned(),
        ),
    })
}

/// Splits `cd DIR &&` off a line.
fn changed_directory(line: &str) -> (Option<&str>, &str) {
    let split = line
        .strip_prefix("cd ")
        .and_then(|rest| rest.split_once("&&"));
    match split {
        Some((directory, rest)) => (Some(directory.trim()), rest.trim_start()),
        None => (None, line),
    }
}

/// Returns the text of one word in quotes of one kind.
fn quoted(text: &str) -> Option<String> {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    let plain = inner('\'').filter(|inner| !inner.contains('\''));
    let double = || inner('"').filter(|inner| !inner.contains(['"', '$', '`', '\\']));
    plain.or_else(double).map(str::to_owned)
}

/// Returns the text of a here-document that is the entire rest of a line.
fn here_document(text: &str) -> Option<String> {
    let (opening, body) = text.strip_prefix("<<")?.split_once('\n')?;
    let opening = opening.trim();
    let quoted = ['\'', '"']
        .iter()
        .find_map(|quote| opening.strip_prefix(*quote)?.strip_suffix(*quote));
    let end = quoted.unwrap_or(opening);
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    // In an unquoted document, the shell would expand these.
    let expands = quoted.is_none() && body.contains(['$', '`', '\\']);
    if !plain(end) || expands {
        return None;
    }
    let body = body.trim_end();
    let patch = body.strip_suffix(end)?;
    let once = !patch.lines().any(|line| line == end);
    (patch.ends_with('\n') && once).then(|| patch.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";

    fn found(line: &str) -> Option<Result<Value, String>> {
        in_line("Bash", &json!({ "command": line }))
    }

    #[test]
    fn a_patch_in_a_line_is_taken_out_of_it() {
        let lines = [
            format!("apply_patch <<'EOF'\n{PATCH}EOF"),
            format!("  applypatch <<\"END\"\n{PATCH}END\n"),
            format!("apply_patch << EOF\n{PATCH}EOF\n\n"),
            format!("apply_patch '{PATCH}'"),
            format!("apply_patch \"{PATCH}\""),
        ];
        for line in lines {
            assert_eq!(
                found(&line),
                Some(Ok(json!({ "command": PATCH }))),
                "{line}"
            );
        }
    }

    #[test]
    fn a_patch_that_cannot_be_read_is_refused() {
        let lines = [
            format!("apply_patch <<'EOF'\n{PATCH}EOF\ntouch x"),
            format!("apply_patch <<EOF\n{PATCH}$(x)\nEOF"),
            format!("apply_patch <<'EOF' | cat\n{PATCH}EOF"),
            format!("apply_patch <<'EOF'\n{PATCH}EOF\nx\nEOF"),
            format!("cd sub && apply_patch <<'EOF'\n{PATCH}EOF"),
            "apply_patch < file".to_owned(),
            "apply_patch \"$x\"".to_owned(),
        ];
        for line in lines {
            assert!(matches!(found(&line), Some(Err(_))), "{line}");
        }
    }

    #[test]
    fn other_lines_are_left_alone() {
        for line in [
            "ls",
            "apply_patches x",
            "cd x && ls",
            "echo apply_patch <<EOF",
            "apply_patch",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
