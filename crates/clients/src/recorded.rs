//! What the recordings of clients say of calls, read as their hooks are.

use interlock_core::names::CallId;
use serde_json::Value;

use crate::{claude_code, client::ClientId, input::ToolUse};

/// Returns the exit code of a shell line, where the client's own record of the call says it for sure.
///
/// `response` is what the tool returned, or the text of the error where it failed.
#[must_use]
pub fn recorded_exit(
    client: ClientId,
    tool: &str,
    input: &Value,
    ok: bool,
    response: &Value,
) -> Option<i64> {
    if client != ClientId::ClaudeCode || !matches!(tool, "Bash" | "PowerShell") {
        return None;
    }
    let used = ToolUse {
        id: None::<CallId>,
        name: tool.to_owned(),
        common: None,
        input: input.clone(),
        doubled: None,
        wrote: None,
    };
    claude_code::exit_code(&used, ok, response)
}
