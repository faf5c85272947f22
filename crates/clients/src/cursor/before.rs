//! A call of Cursor's agent, as its two hooks report it.

use interlock_core::names::{CallId, Digest};
use serde_json::{Map, Value, json};

use crate::input::{HookPayload, ToolUse};

/// Prefix of the name of an MCP server's tool.
const MCP: &str = "MCP:";

/// Reads the call as `preToolUse` and `postToolUse` report it.
pub(super) fn general(
    told: &HookPayload,
    id: Option<CallId>,
    here: &str,
) -> Result<ToolUse, String> {
    let mut used = told.tool(id)?;
    if let Value::String(text) = &used.input {
        (used.input, used.doubled) = arguments(text)?;
    }
    // Only the shell's own arguments contain the line's directory.
    let place = told.optional("cwd")?.filter(|place| place != here);
    if let (Some(place), "Shell", Value::Object(fields)) =
        (place, used.name.as_str(), &mut used.input)
        && !fields.contains_key("working_directory")
    {
        fields.insert("cwd".to_owned(), place.into());
    }
    used.common = common(&used.name);
    Ok(used)
}

/// Reads the call as the hook of its kind reports it.
///
/// `here` is the client's directory; a line that runs there need not name it.
pub(super) fn particular(named: &str, told: &HookPayload, here: &str) -> Result<ToolUse, String> {
    let mut wrote = None;
    let (name, input, doubled) = match named {
        "beforeShellExecution" | "afterShellExecution" => {
            let mut fields = Map::new();
            fields.insert("command".to_owned(), told.text("command")?.into());
            if let Some(place) = told.optional("cwd")?.filter(|place| place != here) {
                fields.insert("cwd".to_owned(), place.into());
            }
            ("Shell".to_owned(), Value::Object(fields), None)
        }
        "beforeReadFile" => (
            "Read".to_owned(),
            json!({ "file_path": told.text("file_path")? }),
            None,
        ),
        "afterFileEdit" => {
            let path = told.text("file_path")?;
            wrote = Some(path.clone());
            ("Write".to_owned(), json!({ "file_path": path }), None)
        }
        _ => {
            let (input, doubled) = match told.get("tool_input") {
                Some(Value::String(text)) => arguments(text)?,
                Some(other) => (other.clone(), told.doubled_below("/tool_input")),
                None => (Value::Null, None),
            };
            let bare = told.text("tool_name")?;
            let bare = bare.strip_prefix(MCP).unwrap_or(&bare);
            (server_tool(told, bare), input, doubled)
        }
    };
    Ok(ToolUse {
        id: None,
        common: common(&name),
        name,
        input,
        doubled,
        wrote,
    })
}

/// Names a tool of an MCP server; a tool that only looks like a control tool gets a different name.
fn server_tool(told: &HookPayload, bare: &str) -> String {
    let ours = ["interlock_", "statewright_"]
        .iter()
        .any(|prefix| bare.starts_with(prefix));
    let server = told.word("command").or_else(|| told.word("url"));
    match server {
        Some(server) if ours && !is_our_server(server) => format!("{MCP}other:{bare}"),
        _ => format!("{MCP}{bare}"),
    }
}

/// Returns whether the line that starts a server starts Interlock's: a program of this name, as a gateway.
fn is_our_server(line: &str) -> bool {
    let program = line
        .split_once(" gateway")
        .map_or(line, |(program, _)| program);
    let program = program.trim_matches(['"', '\'', ' ']);
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    // The name of a folder may contain a blank; any other word is a program of its own.
    let is_one = ![" /", " -", "://"]
        .iter()
        .any(|sign| program.contains(sign));
    is_one && name.strip_suffix(".exe").unwrap_or(name) == "interlock"
}

/// Returns the common name of a server's tool; the hook is not told which server it is.
fn common(name: &str) -> Option<String> {
    name.strip_prefix(MCP).map(|tool| format!("mcp____{tool}"))
}

/// Reads arguments that come as JSON text.
fn arguments(text: &str) -> Result<(Value, Option<String>), String> {
    if text.trim().is_empty() {
        return Ok((Value::Null, None));
    }
    let parsed = interlock_facts::parse(text.as_bytes())
        .map_err(|error| format!("the arguments of the call are not JSON: {error}"))?;
    let doubled = parsed.duplicate_below("").map(str::to_owned);
    Ok((parsed.value, doubled))
}

/// Returns the digest of what both hooks report about a call.
pub(super) fn key(used: &ToolUse) -> Digest {
    let said = |fields: &[&str]| {
        fields
            .iter()
            .find_map(|field| used.input.get(field))
            .cloned()
            .unwrap_or(Value::Null)
    };
    match used.name.as_str() {
        "Shell" => interlock_facts::digest("Shell", &said(&["command"])),
        "Read" => interlock_facts::digest("Read", &said(&["file_path", "path", "target_file"])),
        name => interlock_facts::digest(name, &used.input),
    }
}

#[cfg(test)]
mod tests {
    use super::is_our_server;

    #[test]
    fn a_server_is_ours_by_its_program_and_not_by_a_word_in_its_line() {
        for (line, ours) in [
            ("/usr/bin/interlock gateway", true),
            ("interlock gateway --name x", true),
            ("\"/opt/a b/interlock\" gateway", true),
            ("/opt/a b/interlock gateway", true),
            ("/usr/bin/evil --as interlock gateway", false),
            ("/usr/bin/evil /interlock gateway", false),
            ("/home/me/interlock/evil gateway", false),
            ("http://interlock", false),
            ("interlocked gateway", false),
        ] {
            assert_eq!(is_our_server(line), ours, "{line}");
        }
    }
}
