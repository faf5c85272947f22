//! The tools that a client offers its model, whatever it speaks.

use std::collections::BTreeSet;

use serde_json::Value;

/// What Claude Code writes before the names of tools whose schemas come later.
const DEFERRED: &str = "deferred tools are now available via ToolSearch";

/// Names every tool that a request offers, those of MCP servers too.
///
/// A tool of a namespace has its name after that of the namespace, as Codex's hooks write it.
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
    // A tool without a name goes by its kind.
    let name = if name.is_empty() { kind } else { name };
    if !name.is_empty() {
        names.insert(name.to_owned());
    }
    if name == "exec" {
        nested(names, word(tool, "description"));
    }
}

/// Reads the headings by which the tool that runs code describes the tools of that code.
fn nested(names: &mut BTreeSet<String>, description: &str) {
    let headings = description
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    names.extend(headings.map(str::to_owned));
}

/// Reads the list of names that stands in the conversation.
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
