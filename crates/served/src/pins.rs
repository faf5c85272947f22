//! Pins of tool definitions: each is compared with the definition that the run first saw.
//!
//! A definition tells the model what a tool is for, and Interlock what the tool does: if a server changes it after the
//! run began, the old name stands for another tool.

use std::collections::BTreeMap;

use interlock_core::{event::ToolChange, names::Digest, names::RunId, run::Run};
use interlock_facts::{canonical, control_digest};
use interlock_store::ToolPin;
use serde_json::Value;

use crate::ListedTool;

/// Fields of a definition that may change freely, because the model does not see them.
const FREE: [&str; 2] = ["_meta", "icons"];

/// Returns the digests of a definition; `None` if the server does not list the tool.
#[must_use]
pub fn pin(tool: &ListedTool<'_>) -> Option<ToolPin> {
    let definition = tool.definition.as_object()?;
    let bound = definition
        .iter()
        .filter(|(field, _)| !FREE.contains(&field.as_str()));
    let parts: BTreeMap<String, String> = bound
        .map(|(field, value)| (field.clone(), control_digest(value).as_str().to_owned()))
        .collect();
    let whole = serde_json::to_value(&parts).unwrap_or(Value::Null);
    Some(ToolPin {
        server: tool.server.to_owned(),
        tool: tool.name.to_owned(),
        digest: control_digest(&Value::String(canonical(&whole))),
        parts,
    })
}

/// Returns the difference between a tool and its pin, if there is one; of a tool no longer listed, every field differs.
#[must_use]
pub fn change(pinned: &ToolPin, seen: Option<&ToolPin>) -> Option<ToolChange> {
    let gone = BTreeMap::new();
    let (found, now) = seen.map_or((Digest::new(""), &gone), |seen| {
        (seen.digest.clone(), &seen.parts)
    });
    if found == pinned.digest {
        return None;
    }
    let fields = pinned.parts.keys().chain(now.keys());
    let mut parts: Vec<String> = fields
        .filter(|field| pinned.parts.get(*field) != now.get(*field))
        .cloned()
        .collect();
    parts.sort_unstable();
    parts.dedup();
    Some(ToolChange {
        server: pinned.server.clone(),
        tool: pinned.tool.clone(),
        pinned: pinned.digest.clone(),
        found,
        parts,
    })
}

/// Returns whether a person has accepted the tool's current definition.
#[must_use]
pub fn is_accepted(run: &Run, change: &ToolChange) -> bool {
    run.tools_accepted.iter().any(|known| {
        known.server == change.server && known.tool == change.tool && known.digest == change.found
    })
}

/// Returns the names of a pin's server and tool.
#[must_use]
pub fn name(pin: &ToolPin) -> (String, String) {
    (pin.server.clone(), pin.tool.clone())
}

/// Indexes pins by server and tool.
#[must_use]
pub fn by_name(pins: Vec<ToolPin>) -> BTreeMap<(String, String), ToolPin> {
    pins.into_iter().map(|pin| (name(&pin), pin)).collect()
}

/// Describes a changed tool, and how a person accepts the change where a run has pinned the tool.
#[must_use]
pub fn different(change: &ToolChange, run: Option<&str>) -> String {
    let ToolChange { server, tool, .. } = change;
    match run {
        Some(run) => format!(
            "{}; a person who has looked accepts it with `interlock tools {run} --accept {server} {tool}`",
            other(change)
        ),
        None => other(change),
    }
}

fn other(change: &ToolChange) -> String {
    let tool = &change.tool;
    let what = if change.found.as_str().is_empty() {
        "its server lists it no more".to_owned()
    } else {
        format!("{} changed", change.parts.join(", "))
    };
    format!("`{tool}` is not the tool it was when the run began ({what})")
}

/// Describes why a changed tool is protected; the text precedes "is protected".
#[must_use]
pub fn thing(change: &ToolChange, run: &RunId) -> String {
    let ToolChange { server, tool, .. } = change;
    let server_word = if server.is_empty() { "\"\"" } else { server };
    format!(
        "{}; until a person has looked and accepts it (`interlock tools {run} --accept {server_word} {tool}`) it",
        other(change)
    )
}
