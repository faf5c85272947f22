//! Which call a hook is about, where the client gives calls no ids.
//!
//! Before and after are paired by what was called: the oldest that is still open.

use std::{borrow::Cow, path::Path};

use interlock_core::{
    names::{CallId, Digest},
    run::Run,
};
use serde_json::Value;

use crate::{input::ToolUse, line};

/// Returns a call that is about to run with an id: the client's, or one of our own.
///
/// Two hooks at once may read the same place in the log, but not have the same process.
pub(crate) fn proposed<'a>(run: &Run, used: &'a ToolUse) -> Cow<'a, ToolUse> {
    if used.id.is_some() {
        return Cow::Borrowed(used);
    }
    let id = CallId::new(format!("hook-{}-{}", run.seq, std::process::id()));
    Cow::Owned(ToolUse {
        id: Some(id),
        ..used.clone()
    })
}

/// Returns the id of a call that has ended.
///
/// `None`: no such call is open.
pub(crate) fn ended(
    run: &Run,
    used: &ToolUse,
    field: Option<&str>,
    program: Option<&Path>,
) -> Option<CallId> {
    if let Some(id) = &used.id {
        return Some(id.clone());
    }
    let digest = as_proposed(used, field, program);
    run.calls
        .iter()
        .find(|call| !call.asked && call.digest == digest)
        .map(|call| call.id.clone())
}

/// Returns the digest of a call as it was proposed, before its line was rewritten.
fn as_proposed(used: &ToolUse, field: Option<&str>, program: Option<&Path>) -> Digest {
    let mut input = used.input.clone();
    let original = field.and_then(|field| {
        let line = input.get(field)?.as_str()?;
        Some((field, line::original(program, line)?))
    });
    if let (Some((field, line)), Value::Object(fields)) = (original, &mut input) {
        fields.insert(field.to_owned(), line.into());
    }
    interlock_facts::digest(&used.name, &input)
}
