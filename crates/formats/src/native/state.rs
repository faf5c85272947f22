//! A state: its policy and its transitions.

use interlock_core::{
    machine::{Activity, Outcome, State},
    names::{EventName, StateName},
    policy::{CommandEntry, OnDenied, Policy, Secrets},
};
use interlock_expr::nearest::nearest;
use interlock_validate::Place;

use super::{
    fields::{STAGE, STATE},
    machine::{Current, Reader},
    transition::approval_kind,
};
use crate::{
    commands,
    node::Node,
    stage::{Keys, Stage, keys::of_native},
    table::Fields,
};

/// Tables of a stage's keys.
const KEYS: Keys = Keys {
    assertion: &of_native::ASSERTION,
    retry: &of_native::RETRY,
    options: &of_native::OPTIONS,
};

/// Names of final states that mean failure by default.
pub const FAILURES: &[&str] = &[
    "failed",
    "failure",
    "error",
    "blocked",
    "cancelled",
    "aborted",
];

/// Fields that other tools use and this one ignores.
const IGNORED: &[(&str, &str)] = &[
    (
        "direct_execution",
        "does nothing here: `type: stage` has a model called for a state",
    ),
    (
        "model_ladder",
        "does nothing here: `model` names the one model of a state",
    ),
    (
        "allowed_commands_tool",
        "does nothing here: `allowed_commands` holds for every shell tool",
    ),
];

impl Reader<'_, '_> {
    /// Parses one state. A state is returned even if there are errors.
    pub(super) fn state(
        &mut self,
        current: &mut Current<'_>,
        name: &StateName,
        node: &Node,
    ) -> State {
        let kind = node.get("type").and_then(|entry| entry.value.text());
        let table = if kind == Some("stage") {
            &STAGE
        } else {
            &STATE
        };
        let Some(fields) = table.read(node, &mut self.report) else {
            self.incomplete.insert(current.key.clone());
            return State::default();
        };
        let stage = (kind == Some("stage")).then(|| self.stage_of(current, name, &fields, KEYS));
        if let Some(stage) = &stage {
            self.uses.extend(stage.uses.iter().cloned());
        }
        let mut state = State {
            activity: match &stage {
                // The gate names guards of its machine, which are parsed later.
                Some(stage) => Activity::Stage(Box::new(stage.model_stage(None))),
                None => self.activity(name, &fields),
            },
            retry: stage.as_ref().and_then(|stage| stage.retry.clone()),
            approval_before: stage.as_ref().and_then(Stage::approval_before),
            approval: approval_kind(&fields),
            policy: self.policy(current, name, &fields),
            instructions: fields.string("instructions"),
            model: fields.string("model"),
            thinking_level: fields.string("thinking_level"),
            ..State::default()
        };
        if let Some(entry) = fields.entry("safe_next") {
            self.spans.note(
                current.key.as_ref(),
                Place::SafeNext(name.clone()),
                entry.value.span,
            );
            state.safe_next = entry.value.text().map(StateName::new);
        }
        if let Some(entry) = fields.entry("on") {
            self.spans.note(
                current.key.as_ref(),
                Place::Events(name.clone()),
                entry.key_span,
            );
        }
        for entry in fields.get("on").map(Node::entries).unwrap_or_default() {
            let event = EventName::new(entry.key.clone());
            self.spans.note(
                current.key.as_ref(),
                Place::Event(name.clone(), event.clone()),
                entry.key_span,
            );
            if entry.key.is_empty() {
                self.report
                    .error(
                        entry.key_span,
                        "invalid_name",
                        "the name of an event is empty",
                    )
                    .help("give it a name");
            }
            let rule = self.rule(current, name, &event, &entry.value);
            state.on.extend(rule.map(|rule| (event, rule)));
        }
        if fields.is_broken("on") {
            self.incomplete.insert(current.key.clone());
        }
        for (field, does) in IGNORED {
            if let Some(entry) = fields.entry(field) {
                self.report
                    .note(entry.key_span, "ignored_field", format!("`{field}` {does}"));
            }
        }
        state
    }

    fn activity(&mut self, name: &StateName, fields: &Fields<'_>) -> Activity {
        let written = fields.entry("outcome");
        match fields.get("type").map(|node| (node, node.text())) {
            Some((_, Some("final"))) => {
                let failed = match written.and_then(|entry| entry.value.text()) {
                    Some(outcome) => outcome == "failure",
                    None => FAILURES.contains(&name.as_str()),
                };
                return Activity::Final {
                    outcome: if failed {
                        Outcome::Failure
                    } else {
                        Outcome::Success
                    },
                };
            }
            None => {}
            Some((node, text)) => {
                let near = text.and_then(|text| nearest(text, ["final", "stage"]));
                let hint = near
                    .map(|near| format!(": did you mean `{near}`?"))
                    .unwrap_or_default();
                self.report
                    .error(
                        node.span,
                        "wrong_value",
                        format!("`type` must be `final` or `stage`, not {}{hint}", node.describe()),
                    )
                    .help(
                        "write `type: final` where the workflow ends, `type: stage` where a model is called, and leave it out elsewhere",
                    );
                // A misspelled word is read as the likely one, so that the checks do not miss an end.
                if near == Some("final") {
                    return Activity::Final {
                        outcome: Outcome::Success,
                    };
                }
            }
        }
        if let Some(entry) = written {
            self.report
                .error(
                    entry.key_span,
                    "misplaced_field",
                    "`outcome` belongs to a state with `type: final`",
                )
                .help("add `type: final`, or remove `outcome`");
        }
        Activity::Await
    }

    /// Parses what the state allows.
    pub(crate) fn policy(
        &mut self,
        current: &Current<'_>,
        name: &StateName,
        fields: &Fields<'_>,
    ) -> Policy {
        // A field that could not be parsed restricts, so that nothing is doubted because of it.
        let nothing = |field| fields.is_broken(field).then(Vec::new);
        Policy {
            allowed_tools: self
                .tools(current, fields, "allowed_tools", |index| {
                    Place::AllowedTool(name.clone(), index)
                })
                .or_else(|| nothing("allowed_tools")),
            disallowed_tools: self
                .tools(current, fields, "disallowed_tools", |index| {
                    Place::DisallowedTool(name.clone(), index)
                })
                .unwrap_or_default(),
            on_denied: if fields.text("on_denied") == Some("ask") {
                OnDenied::Ask
            } else {
                OnDenied::Deny
            },
            iterations_max: fields
                .count("max_iterations")
                .or_else(|| fields.is_broken("max_iterations").then_some(1)),
            edit_lines_max: fields.count("max_edit_lines"),
            files_max: fields.count("max_files_per_state"),
            result_bytes_max: fields.count("context_budget_bytes"),
            allowed_commands: self
                .commands(current, name, fields)
                .or_else(|| fields.is_broken("allowed_commands").then(Vec::new)),
            background: self.background(fields),
            shell_writes: false,
            secrets: match fields.text("secrets") {
                Some("deny") => Secrets::Deny,
                // What could not be parsed restricts.
                _ if fields.is_broken("secrets") => Secrets::Deny,
                _ => Secrets::Allow,
            },
            blocked_env: self.blocked_env(fields),
            env_overrides: self.env_overrides(fields),
            sockets: self.sockets(fields),
        }
    }

    fn tools(
        &mut self,
        current: &Current<'_>,
        fields: &Fields<'_>,
        field: &str,
        place: impl Fn(usize) -> Place,
    ) -> Option<Vec<String>> {
        let names = fields.names(field)?;
        for (index, (_, node)) in names.iter().enumerate() {
            self.spans
                .note(current.key.as_ref(), place(index), node.span);
        }
        Some(names.into_iter().map(|(name, _)| name.to_owned()).collect())
    }

    fn commands(
        &mut self,
        current: &Current<'_>,
        name: &StateName,
        fields: &Fields<'_>,
    ) -> Option<Vec<CommandEntry>> {
        let written = fields.names("allowed_commands")?;
        let mut entries = Vec::with_capacity(written.len());
        for (text, node) in written {
            let Some(entry) = commands::entry(text, text, node.span, &mut self.report) else {
                continue;
            };
            self.spans.note(
                current.key.as_ref(),
                Place::AllowedCommand(name.clone(), entries.len()),
                node.span,
            );
            entries.push(entry);
        }
        Some(entries)
    }

    fn background(&mut self, fields: &Fields<'_>) -> Vec<CommandEntry> {
        let written = fields.names("background").unwrap_or_default();
        let entry = |(text, node): (&str, &Node)| {
            Some(CommandEntry {
                text: text.to_owned(),
                words: commands::words(text, node.span, &mut self.report)?,
            })
        };
        written.into_iter().filter_map(entry).collect()
    }

    fn blocked_env(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let names = fields.names("blocked_env").unwrap_or_default();
        for (name, node) in &names {
            self.check_variable(name, node.span);
        }
        names.into_iter().map(|(name, _)| name.to_owned()).collect()
    }

    fn sockets(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let paths = fields.names("sockets").unwrap_or_default();
        let is_whole = |path: &str| path.starts_with('/') || path.starts_with("~/");
        for (path, node) in paths.iter().filter(|(path, _)| !is_whole(path)) {
            self.report
                .error(
                    node.span,
                    "invalid_socket",
                    format!("`{path}` is not the path of a Unix socket"),
                )
                .help("write a whole path: `/run/postgresql`, `~/.cache/app.sock`");
        }
        paths.into_iter().map(|(path, _)| path.to_owned()).collect()
    }

    fn env_overrides(&mut self, fields: &Fields<'_>) -> indexmap::IndexMap<String, String> {
        let entries = fields
            .get("env_overrides")
            .map(Node::entries)
            .unwrap_or_default();
        for entry in entries {
            self.check_variable(&entry.key, entry.key_span);
        }
        entries
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned())))
            .collect()
    }

    fn check_variable(&mut self, name: &str, span: crate::source::Span) {
        let plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty()
            || !plain
            || name
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_digit())
        {
            self.report
                .error(
                    span,
                    "invalid_name",
                    format!("`{name}` is not the name of an environment variable"),
                )
                .help("it is made of letters, digits and `_`, and stands for itself alone");
        }
    }
}
