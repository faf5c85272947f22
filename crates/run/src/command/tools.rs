//! The tools that are available when an attempt of a stage begins, and those that its model is offered.

use crate::policy::{Policy, wildcard_matches};

/// A tool that is available when an attempt begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableTool {
    /// Name by which the model calls the tool.
    pub name: String,
    /// Names with the server's name, for a server tool; rules can use each of them.
    pub served_as: Vec<String>,
}

impl AvailableTool {
    /// Describes a tool that belongs to no server.
    #[must_use]
    pub fn own(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            served_as: Vec::new(),
        }
    }

    /// Returns the names that rules can use.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let served = self.served_as.iter().map(String::as_str);
        std::iter::once(self.name.as_str()).chain(served).collect()
    }

    /// Returns whether `patterns` matches one of the names.
    #[must_use]
    pub fn is_of(&self, patterns: &[String]) -> bool {
        let names = self.names();
        let mut patterns = patterns.iter();
        patterns.any(|pattern| names.iter().any(|name| wildcard_matches(pattern, name)))
    }

    fn passes(&self, policy: &Policy) -> bool {
        if self.served_as.is_empty() {
            return policy.lets_pass(&[self.name.as_str()]);
        }
        // As a call of it is judged: only its own names mean a server's tool.
        let names = self.names();
        policy.lists_as_written(&names) && !policy.disallows(&names)
    }
}

/// Returns the tools that the model of a stage is offered, and the listed ones that are not available.
#[must_use]
pub fn offered(
    policy: Option<&Policy>,
    completion_tool: Option<&str>,
    of_run: Option<&[String]>,
    there: &[AvailableTool],
) -> (Vec<String>, Vec<String>) {
    let exist: Vec<&AvailableTool> = there
        .iter()
        .filter(|tool| of_run.is_none_or(|tools| tool.is_of(tools)))
        .collect();
    let tools = exist
        .iter()
        .filter(|tool| policy.is_none_or(|policy| tool.passes(policy)))
        .map(|tool| tool.name.clone())
        .collect();
    let listed = policy.and_then(|policy| policy.allowed_tools.as_deref());
    let missing = listed
        .unwrap_or_default()
        .iter()
        .filter(|tool| !tool.contains('*') && completion_tool != Some(tool.as_str()))
        .filter(|tool| {
            !exist
                .iter()
                .any(|known| known.names().contains(&tool.as_str()))
        })
        .cloned()
        .collect();
    (tools, missing)
}
