//! The tool calls that a state allows, as in the native format.

use interlock_core::policy::{CommandEntry, OnDenied, Policy, Secrets};

use super::{
    keys::POLICY,
    notes::{Notes, shown},
    table::Fields,
};
use crate::{commands, node::Node, source::Span};

/// Parses a policy; `what` is its name in messages.
pub(super) fn read(what: &str, node: &Node, notes: &mut Notes<'_>) -> Option<Policy> {
    let fields = POLICY.read(what, node, notes)?;
    let texts = |name: &str| -> Vec<String> {
        let texts = fields.texts(name).into_iter();
        texts.map(|(text, _)| text.to_owned()).collect()
    };
    let written = |name: &str| fields.has(name).then(|| texts(name));
    for (name, span) in fields.texts("blocked_env") {
        variable(name, span, notes);
    }
    let overrides = fields.get("env_overrides").map(Node::entries);
    for entry in overrides.unwrap_or_default() {
        variable(&entry.key, entry.key_span, notes);
    }
    Some(Policy {
        allowed_tools: written("allowed_tools"),
        disallowed_tools: texts("disallowed_tools"),
        on_denied: match fields.text("on_denied") {
            Some("ask") => OnDenied::Ask,
            _ => OnDenied::Deny,
        },
        iterations_max: fields.integer("max_iterations"),
        edit_lines_max: fields.integer("max_edit_lines"),
        files_max: fields.integer("max_files_per_state"),
        result_bytes_max: fields.integer("context_budget_bytes"),
        allowed_commands: commands(&fields, notes),
        background: Vec::new(),
        shell_writes: false,
        secrets: Secrets::Allow,
        sockets: Vec::new(),
        blocked_env: texts("blocked_env"),
        env_overrides: overrides
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned())))
            .collect(),
    })
}

fn commands(fields: &Fields<'_>, notes: &mut Notes<'_>) -> Option<Vec<CommandEntry>> {
    if !fields.has("allowed_commands") {
        return None;
    }
    let mut entries = Vec::new();
    for (text, span) in fields.texts("allowed_commands") {
        let entry = commands::entry(text, &shown(text), span, notes.report);
        entries.extend(entry);
    }
    Some(entries)
}

fn variable(name: &str, span: Span, notes: &mut Notes<'_>) {
    let letters = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    if letters && begins {
        return;
    }
    notes
        .report
        .error(
            span,
            "invalid_name",
            format!("`{}` is not a name of a variable", shown(name)),
        )
        .help("write letters, digits and `_`, the first no digit");
}
