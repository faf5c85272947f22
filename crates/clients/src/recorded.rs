//! Results of calls in the recordings of clients, read like the input of their hooks.

use interlock_core::names::CallId;
use serde_json::Value;

use crate::{claude_code, client::ClientId, input::ToolUse};

/// Returns the exit code of a shell line, if the client's own record of the call states it reliably.
///
/// `response` is the result of the tool, or the text of the error if it failed.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_claude_code_records_exit_codes_reliably() {
        let input = json!({"command": "cargo test"});
        let response = json!({"stdout": "ok", "stderr": "", "interrupted": false});
        for (_, client) in ClientId::ALL {
            let exit = recorded_exit(client, "Bash", &input, true, &response);
            let known = client == ClientId::ClaudeCode;
            assert_eq!(exit, known.then_some(0), "{client:?}");
        }
    }
}
