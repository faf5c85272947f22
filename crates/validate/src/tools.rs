//! Whether a client may have a tool.

use interlock_core::policy::wildcard_matches;
use interlock_tool_names::known;

/// Returns whether a client may have a tool that `pattern` names.
///
/// Tools of MCP servers and the control tools are not looked up: which there
/// are is not known here.
pub(super) fn may_exist(pattern: &str) -> bool {
    let unknowable = ["mcp_", "MCP:", "interlock_", "statewright_", "*"];
    // `SERVER__TOOL` is a tool of a server behind the gateway.
    pattern.contains("__")
        || unknowable.iter().any(|prefix| pattern.starts_with(prefix))
        || known().any(|tool| wildcard_matches(pattern, tool))
}
