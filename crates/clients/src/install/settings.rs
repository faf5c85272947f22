//! The edits of Claude Code's own files: hooks in `settings.json`, the server in `.mcp.json`.

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode},
    json,
};
use serde_json::Value;

use super::Site;

/// The hooks that Interlock answers. Without a matcher: every tool passes, also those to come.
pub const EVENTS: [&str; 9] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
];

/// Seconds a hook may take before the client gives up; Interlock's own deadline is two.
const TIMEOUT_S: u32 = 10;

/// The name under which the control server is registered.
const SERVER: &str = "interlock";

/// What stands in a settings file for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// Nothing of ours.
    Missing,
    /// Ours, but not as it should be.
    Incomplete,
    /// As it should be: the command that is configured.
    Complete(String),
}

/// Tells whether a hook command is one of Interlock's.
#[must_use]
pub fn is_ours(command: &str) -> bool {
    command.contains("interlock") && command.trim_end().ends_with(" hook claude-code")
}

impl HookState {
    /// Looks up an event in parsed settings.
    #[must_use]
    pub fn of(settings: &Value, event: &str) -> Self {
        let groups = settings
            .pointer(&format!("/hooks/{event}"))
            .and_then(Value::as_array);
        let mut state = Self::Missing;
        for group in groups.into_iter().flatten() {
            let every_tool = match group.get("matcher") {
                None | Some(Value::Null) => true,
                Some(matcher) => matches!(matcher.as_str(), Some("" | "*")),
            };
            for hook in group
                .get("hooks")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let Some(command) = command_of(hook).filter(|command| is_ours(command)) else {
                    continue;
                };
                let blocks = hook.get("onFailure").and_then(Value::as_str) == Some("block");
                let waits = hook.get("async") != Some(&Value::Bool(true));
                if blocks && every_tool && waits && hook.get("if").is_none() {
                    return Self::Complete(command);
                }
                state = Self::Incomplete;
            }
        }
        state
    }
}

/// Returns the whole command line of a hook: its command and its arguments.
fn command_of(hook: &Value) -> Option<String> {
    let mut words = vec![hook.get("command")?.as_str()?];
    let arguments = hook.get("args").and_then(Value::as_array);
    words.extend(arguments.into_iter().flatten().filter_map(Value::as_str));
    Some(words.join(" "))
}

/// Puts the hooks in.
pub(super) fn with_hooks(text: Option<&str>, site: &Site) -> Result<Option<String>, String> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("it is not an object")?;
    let hooks = object
        .object_value_or_create("hooks")
        .ok_or("`hooks` is not an object")?;
    let command = site.hook_command();
    for event in EVENTS {
        let groups = hooks
            .array_value_or_create(event)
            .ok_or_else(|| format!("`hooks.{event}` is not a list"))?;
        let value = object.to_serde_value().unwrap_or_default();
        if HookState::of(&value, event) == HookState::Complete(command.clone()) {
            continue;
        }
        take_out(&groups);
        groups.append(json!({
            "hooks": [{ "type": "command", "command": (command.as_str()), "timeout": (TIMEOUT_S), "onFailure": "block" }]
        }));
    }
    Ok(Some(root.to_string()))
}

/// Takes the hooks out.
pub(super) fn without_hooks(text: Option<&str>, _: &Site) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(None) };
    let root = parse(Some(text))?;
    let object = root.object_value().ok_or("it is not an object")?;
    let Some(hooks) = object.object_value("hooks") else {
        return Ok(Some(text.to_owned()));
    };
    let mut changed = false;
    for event in EVENTS {
        let Some(groups) = hooks.array_value(event) else {
            continue;
        };
        let took = take_out(&groups);
        changed |= took;
        if took && groups.elements().is_empty() {
            remove_property(&hooks, event);
        }
    }
    if changed && hooks.properties().is_empty() {
        remove_property(&object, "hooks");
    }
    Ok(left_over(&root, &object, changed))
}

/// Takes every hook of ours out of the groups of one event.
fn take_out(groups: &CstArray) -> bool {
    let mut took = false;
    for group in groups.elements() {
        let Some(hooks) = group
            .as_object()
            .and_then(|group| group.array_value("hooks"))
        else {
            continue;
        };
        let ours: Vec<CstNode> = hooks.elements().into_iter().filter(is_our_hook).collect();
        if ours.is_empty() {
            continue;
        }
        took = true;
        if ours.len() == hooks.elements().len() {
            group.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    took
}

fn is_our_hook(hook: &CstNode) -> bool {
    hook.to_serde_value()
        .as_ref()
        .and_then(command_of)
        .is_some_and(|command| is_ours(&command))
}

/// Registers the control server.
pub(super) fn with_server(text: Option<&str>, site: &Site) -> Result<Option<String>, String> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("it is not an object")?;
    let servers = object
        .object_value_or_create("mcpServers")
        .ok_or("`mcpServers` is not an object")?;
    let program = site.program.display().to_string();
    let wanted = serde_json::json!({ "command": program, "args": ["gateway"], "alwaysLoad": true });
    match servers.get(SERVER) {
        Some(server) if server.value().and_then(|value| value.to_serde_value()) == Some(wanted) => {
        }
        Some(server) => server.set_value(server_value(&program)),
        None => {
            servers.append(SERVER, server_value(&program));
        }
    }
    Ok(Some(root.to_string()))
}

/// `alwaysLoad`: newer clients list a server's tools at once, not only when searched for.
fn server_value(program: &str) -> CstInputValue {
    json!({ "command": (program), "args": ["gateway"], "alwaysLoad": true })
}

/// Takes the control server out.
pub(super) fn without_server(text: Option<&str>, _: &Site) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(None) };
    let root = parse(Some(text))?;
    let object = root.object_value().ok_or("it is not an object")?;
    let Some(servers) = object.object_value("mcpServers") else {
        return Ok(Some(text.to_owned()));
    };
    let ours = servers.get(SERVER).filter(|server| {
        let value = server
            .value()
            .and_then(|value| value.to_serde_value())
            .unwrap_or_default();
        value.pointer("/args/0").and_then(Value::as_str) == Some("gateway")
    });
    let changed = ours.is_some();
    if let Some(server) = ours {
        server.remove();
        if servers.properties().is_empty() {
            remove_property(&object, "mcpServers");
        }
    }
    Ok(left_over(&root, &object, changed))
}

fn remove_property(object: &CstObject, name: &str) {
    if let Some(property) = object.get(name) {
        property.remove();
    }
}

/// Returns what is left; a file in which nothing is left goes.
fn left_over(root: &CstRootNode, object: &CstObject, changed: bool) -> Option<String> {
    let empty = changed
        && object.children_exclude_trivia_and_tokens().is_empty()
        && root.children_exclude_trivia_and_tokens().len() == 1;
    (!empty).then(|| root.to_string())
}

/// Parses strictly, as the client does; a file that is not there is an empty object.
fn parse(text: Option<&str>) -> Result<CstRootNode, String> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_extended_string_escapes: false,
        allow_non_finite_numbers: false,
    };
    let text = text
        .filter(|text| !text.trim().is_empty())
        .unwrap_or("{}\n");
    // The client's own reader is the stricter one where the two differ.
    serde_json::from_str::<Value>(text).map_err(|error| format!("it is not JSON: {error}"))?;
    CstRootNode::parse(text, &strict).map_err(|error| format!("it is not JSON: {error}"))
}
