//! Finds the tools that a client offers its model, in any protocol.

use std::collections::BTreeSet;

use serde_json::Value;

/// Claude Code's text before the names of tools whose schemas are loaded later.
const DEFERRED: &str = "deferred tools are now available via ToolSearch";

/// Returns the names of all tools that a request offers, including those of MCP servers.
///
/// The name of a tool in a namespace is prefixed by the namespace, as in Codex's hooks.
pub(super) fn tools(request: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for tool in items(request, "tools") {
        add(&mut names, tool);
    }
    let more = items(request, "input")
        .iter()
        .filter(|item| word(item, "type") == "additional_tools");
    for tool in more.flat_map(|item| items(item, "tools")) {
        add(&mut names, tool);
    }
    for message in items(request, "messages") {
        deferred(&mut names, message);
    }
    names
}

fn add(names: &mut BTreeSet<String>, tool: &Value) {
    let declared = items(tool, "functionDeclarations");
    names.extend(declared.iter().map(|tool| word(tool, "name").to_owned()));
    if let Some(function) = tool.get("function") {
        return add(names, function);
    }
    let (name, kind) = (word(tool, "name"), word(tool, "type"));
    if kind == "namespace" {
        let mut inner = BTreeSet::new();
        for tool in items(tool, "tools") {
            add(&mut inner, tool);
        }
        let prefix = if name == "functions" { "" } else { name };
        names.extend(inner.iter().map(|inner| format!("{prefix}{inner}")));
        return;
    }
    // A tool without a name is listed by its type.
    let name = if name.is_empty() { kind } else { name };
    if !name.is_empty() {
        names.insert(name.to_owned());
    }
    if name == "exec" {
        nested(names, word(tool, "description"));
    }
}

/// Adds the tools that the code tool's description lists by headings.
fn nested(names: &mut BTreeSet<String>, description: &str) {
    let headings = description
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    names.extend(headings.map(str::to_owned));
}

/// Adds the tools that a message lists by name.
fn deferred(names: &mut BTreeSet<String>, value: &Value) {
    match value {
        Value::String(text) => {
            let Some((_, list)) = text.split_once(DEFERRED) else {
                return;
            };
            let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
            names.extend(lines.map(str::to_owned));
        }
        Value::Array(values) => values.iter().for_each(|value| deferred(names, value)),
        Value::Object(fields) => fields.values().for_each(|value| deferred(names, value)),
        _ => {}
    }
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let items = value.get(key).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
