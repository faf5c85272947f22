//! Matches hooks to calls for clients that give calls no ids.
//!
//! The hook before a call and the hook after it are paired by the call's content: the oldest open call matches.

use std::{borrow::Cow, path::Path};

use interlock_core::{
    names::{AgentId, CallId, Digest},
    run::{OpenCall, Run},
};
use serde_json::Value;

use crate::{
    input::{Input, ToolUse},
    line,
    tools::LINE,
    tools::plain_call,
};

/// Prefix of ids that do not come from the client.
const OWN: &str = "hook-";

/// Returns a call that is about to run with an id: the client's, or a generated one.
///
/// Two hooks at once may read the same sequence number in the log, but they never have the same process id.
pub(crate) fn proposed<'a>(
    run: &Run,
    agent: Option<&AgentId>,
    used: &'a ToolUse,
) -> Cow<'a, ToolUse> {
    if used.id.is_some() {
        return Cow::Borrowed(used);
    }
    let process = std::process::id();
    let id = format!("{OWN}{}-{process}{}", run.seq, of_agent(agent));
    let id = CallId::new(id);
    Cow::Owned(ToolUse {
        id: Some(id),
        ..used.clone()
    })
}

/// Returns the mark that a sub-agent's calls have in their ids.
fn of_agent(agent: Option<&AgentId>) -> String {
    agent.map_or_else(String::new, |agent| format!("@{agent}"))
}

/// Returns the id of a call that has ended, or `None` if no such call is open.
///
pub(crate) fn ended(
    run: &Run,
    input: &Input,
    used: &ToolUse,
    program: Option<&Path>,
) -> Option<CallId> {
    if let Some(id) = &used.id {
        return Some(id.clone());
    }
    let open = run.calls.iter().filter(|call| !call.asked && !call.told);
    if let Some(file) = &used.wrote {
        let mut open = open;
        let wrote = open.find(|call| call.marks.files.contains(file));
        return wrote.map(|call| call.id.clone());
    }
    let digest = as_proposed(input, used, program)?;
    let agent = of_agent(input.agent.as_ref());
    // Skip calls of other agents, and calls that end by the client's own id.
    let is_theirs = |id: &str| {
        id.starts_with(OWN)
            && id
                .find('@')
                .map_or("", |at| id.get(at..).unwrap_or_default())
                == agent
    };
    let mut theirs = open.filter(|call| is_theirs(call.id.as_str()));
    let same = theirs.clone().find(|call| call.digest == digest);
    // For a rewritten line, Gemini CLI leaves out the other arguments: take the oldest call whose end `exec` reported.
    let told = || theirs.find(|call| is_carried(used, program) && has_ended(call));
    same.or_else(told).map(|call| call.id.clone())
}

/// Returns whether a call that ended differs from the one that a person was asked about under its id.
pub(crate) fn is_another(
    run: &Run,
    id: &CallId,
    input: &Input,
    used: &ToolUse,
    program: Option<&Path>,
) -> bool {
    let open = run.calls.iter().find(|call| call.id == *id && call.asked);
    open.is_some_and(|open| as_proposed(input, used, program).as_ref() != Some(&open.digest))
}

/// Returns whether the call is a line that was rewritten for `interlock exec`.
fn is_carried(used: &ToolUse, program: Option<&Path>) -> bool {
    let written = used.input.get(LINE).and_then(Value::as_str);
    written.is_some_and(|line| line::is_carried(program, line))
}

/// Returns whether `interlock exec` has reported the end of the call's line.
fn has_ended(call: &OpenCall) -> bool {
    call.line_has_ended()
}

/// Returns the digest of a call as proposed, before its line was rewritten.
pub(crate) fn as_proposed(input: &Input, used: &ToolUse, program: Option<&Path>) -> Option<Digest> {
    let mut arguments = used.input.clone();
    let written = arguments.get(LINE).and_then(Value::as_str);
    let original = written.and_then(|line| line::original(program, line));
    if let (Some(line), Value::Object(fields)) = (original, &mut arguments) {
        fields.insert(LINE.to_owned(), line.into());
    }
    let plain = plain_call(input.client, &used.name, &arguments).ok()?;
    Some(interlock_facts::digest(&plain.name, &plain.input))
}

#[cfg(test)]
mod tests;
