//! The edits of Claude Code's own files: hooks in `settings.json`, the server in `.mcp.json`.

use serde_json::{Value, json};

use super::{
    Site,
    json::{At, Fault, Text},
    words::{joined, split},
};

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

impl HookState {
    /// Looks up an event in parsed settings.
    #[must_use]
    pub fn of(settings: &Value, event: &str, site: &Site) -> Self {
        let groups = settings.pointer(&format!("/hooks/{event}"));
        let mut state = Self::Missing;
        for group in groups.and_then(Value::as_array).into_iter().flatten() {
            for hook in hooks_of(group) {
                let Some(words) = our_words(hook, site) else {
                    continue;
                };
                if always_holds(group, hook) {
                    let line = hook.get("command").and_then(Value::as_str);
                    let line = line.filter(|_| hook.get("args").is_none());
                    return Self::Complete(line.map_or_else(|| joined(&words), str::to_owned));
                }
                state = Self::Incomplete;
            }
        }
        state
    }
}

fn hooks_of(group: &Value) -> impl Iterator<Item = &Value> {
    let hooks = group.get("hooks").and_then(Value::as_array);
    hooks.into_iter().flatten()
}

/// Tells whether a hook runs for every call, is waited for, and blocks when it fails.
fn always_holds(group: &Value, hook: &Value) -> bool {
    let every_tool = match group.get("matcher") {
        None | Some(Value::Null) => true,
        Some(matcher) => matches!(matcher.as_str(), Some("" | "*" | ".*")),
    };
    let blocks = hook.get("onFailure").and_then(Value::as_str) == Some("block");
    let is_set = |key: &str| {
        hook.get(key)
            .is_some_and(|value| *value != Value::Bool(false))
    };
    every_tool && blocks && !is_set("async") && !is_set("once") && hook.get("if").is_none()
}

/// Returns the words of a hook's command line when it is one of Interlock's.
///
/// That is: nothing but a program named `interlock`, or the one to be installed,
/// called as the hook of this client.
fn our_words(hook: &Value, site: &Site) -> Option<Vec<String>> {
    let command = hook.get("command")?.as_str()?;
    let words = match hook.get("args").and_then(Value::as_array) {
        Some(arguments) => {
            let arguments = arguments
                .iter()
                .map(|word| word.as_str().map(str::to_owned));
            std::iter::once(Some(command.to_owned()))
                .chain(arguments)
                .collect::<Option<Vec<_>>>()?
        }
        None => split(command)?,
    };
    let [program, hook, client] = words.as_slice() else {
        return None;
    };
    (hook == "hook" && client == "claude-code" && is_our_program(program, site)).then_some(words)
}

fn is_our_program(program: &str, site: &Site) -> bool {
    let path = std::path::Path::new(program);
    let named = path.file_stem().is_some_and(|stem| stem == "interlock");
    named || path == site.program
}

/// Puts the hooks in.
pub(super) fn with_hooks(text: Option<&str>, site: &Site) -> Result<Option<String>, Fault> {
    let (mut text, settings) = parse(text)?;
    object_at(&mut text, &settings, "hooks")?;
    let hook = json!({
        "type": "command",
        "command": site.hook_command(),
        "timeout": TIMEOUT_S,
        "onFailure": "block",
    });
    let group = json!({ "hooks": [hook] });
    for event in EVENTS {
        let path = [At::Key("hooks"), At::Key(event)];
        let wanted = HookState::Complete(site.hook_command());
        match text.value(&path) {
            None => text.add_member(&path[..1], event, &json!([group])),
            Some(Value::Array(_)) if HookState::of(&settings, event, site) == wanted => {}
            Some(Value::Array(_)) => {
                take_out(&mut text, event, site);
                text.add_item(&path, &group);
            }
            Some(_) => {
                return Err(text.fault(&path, format!("`hooks.{event}` is not a list")));
            }
        }
    }
    Ok(Some(text.into_string()))
}

/// Takes the hooks out.
pub(super) fn without_hooks(text: Option<&str>, site: &Site) -> Result<Option<String>, Fault> {
    let Some(before) = text else { return Ok(None) };
    let (mut text, _) = parse(Some(before))?;
    let mut took = false;
    for event in EVENTS {
        let path = [At::Key("hooks"), At::Key(event)];
        if take_out(&mut text, event, site) {
            took = true;
            remove_if_empty(&mut text, &path);
        }
    }
    if took {
        remove_if_empty(&mut text, &[At::Key("hooks")]);
    }
    Ok(left_over(text, took))
}

/// Takes every hook of ours out of the groups of one event.
fn take_out(text: &mut Text, event: &str, site: &Site) -> bool {
    let path = [At::Key("hooks"), At::Key(event)];
    let groups = match text.value(&path) {
        Some(Value::Array(groups)) => groups,
        _ => return false,
    };
    let mut took = false;
    // From the end, so that what is still to come keeps its place.
    for (index, group) in groups.iter().enumerate().rev() {
        let ours: Vec<bool> = hooks_of(group)
            .map(|hook| our_words(hook, site).is_some())
            .collect();
        if !ours.contains(&true) {
            continue;
        }
        took = true;
        let [hooks, event] = path;
        if !ours.contains(&false) {
            text.remove(&[hooks, event, At::Index(index)]);
            continue;
        }
        for (nth, _) in ours.iter().enumerate().rev().filter(|(_, ours)| **ours) {
            let path = [
                hooks,
                event,
                At::Index(index),
                At::Key("hooks"),
                At::Index(nth),
            ];
            text.remove(&path);
        }
    }
    took
}

/// Registers the control server.
pub(super) fn with_server(text: Option<&str>, site: &Site) -> Result<Option<String>, Fault> {
    let (mut text, settings) = parse(text)?;
    object_at(&mut text, &settings, "mcpServers")?;
    // `alwaysLoad`: newer clients list a server's tools at once, not only when searched for.
    let wanted = json!({
        "command": site.program.display().to_string(),
        "args": ["gateway"],
        "alwaysLoad": true,
    });
    let path = [At::Key("mcpServers"), At::Key(SERVER)];
    match text.value(&path) {
        None => text.add_member(&path[..1], SERVER, &wanted),
        Some(found) if found == wanted => {}
        Some(found) if is_our_server(&found) => text.set(&path, &wanted),
        Some(_) => {
            let reason = format!("`mcpServers.{SERVER}` is another server");
            return Err(text.fault(&path, reason));
        }
    }
    Ok(Some(text.into_string()))
}

/// Takes the control server out.
pub(super) fn without_server(text: Option<&str>, _: &Site) -> Result<Option<String>, Fault> {
    let Some(before) = text else { return Ok(None) };
    let (mut text, _) = parse(Some(before))?;
    let path = [At::Key("mcpServers"), At::Key(SERVER)];
    let ours = text.value(&path).is_some_and(|found| is_our_server(&found));
    if ours {
        text.remove(&path);
        remove_if_empty(&mut text, &path[..1]);
    }
    Ok(left_over(text, ours))
}

fn is_our_server(server: &Value) -> bool {
    server.pointer("/args/0").and_then(Value::as_str) == Some("gateway")
}

/// Makes sure that `key` is an object.
fn object_at(text: &mut Text, settings: &Value, key: &str) -> Result<(), Fault> {
    match settings.get(key) {
        None => text.add_member(&[], key, &json!({})),
        Some(Value::Object(_)) => {}
        Some(_) => return Err(text.fault(&[At::Key(key)], format!("`{key}` is not an object"))),
    }
    text.twice(&[At::Key(key)]).map_or(Ok(()), Err)
}

fn remove_if_empty(text: &mut Text, path: &[At<'_>]) {
    let empty = match text.value(path) {
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => false,
    };
    if empty {
        text.remove(path);
    }
}

/// Returns what is left; a file in which nothing is left goes.
fn left_over(text: Text, took: bool) -> Option<String> {
    let empty = matches!(text.value(&[]), Some(Value::Object(members)) if members.is_empty());
    (!(took && empty)).then(|| text.into_string())
}

/// Reads a file that must hold one object; one that is not there is an empty one.
fn parse(text: Option<&str>) -> Result<(Text, Value), Fault> {
    let text = text.filter(|text| !text.trim().is_empty());
    let text = Text::parse(text.unwrap_or("{}\n"))?;
    match text.value(&[]) {
        Some(settings @ Value::Object(_)) => match text.twice(&[]) {
            Some(fault) => Err(fault),
            None => Ok((text, settings)),
        },
        _ => Err(text.fault(&[], "not an object".to_owned())),
    }
}
