//! The available workflows, and how one is loaded.

use interlock_core::{call::ControlTool, machine::Machine};
use interlock_formats::{Diagnostic, Severity, Source, Workflows as _, load, render};
use interlock_project::{Entry, Library};
use serde_json::{Value, json};

use super::{Control, Incoming, caller::Caller};
use crate::{
    answer::Answer,
    refused::{Refused, Word},
    tools::ToolText,
};

/// Maximum number of workflows listed at once.
const LISTED_MAX: usize = 100;
/// Maximum number of characters of a report on a workflow's errors.
const REPORT_CHARS_MAX: usize = 6_000;
/// Keys of `meta` that help to choose a workflow.
const SHOWN_META: [&str; 3] = ["task_type", "estimated_steps", "danger_level"];

impl Control {
    pub(super) fn library(&self, caller: &Caller) -> Library {
        Library::new(
            self.root_of(caller),
            self.settings.environment.configuration.as_deref(),
        )
    }

    pub(super) fn listed(&self, incoming: &Incoming) -> Result<Answer, Refused> {
        let (caller, _) = self.receive(ControlTool::ListWorkflows, incoming)?;
        let library = self.library(&caller);
        let entries = library.list();
        let shown: Vec<(Value, String)> = entries
            .iter()
            .take(LISTED_MAX)
            .map(|entry| described(&library, entry))
            .collect();
        let left = entries.len().saturating_sub(LISTED_MAX);
        let start = ToolText::of(ControlTool::Start).full_name(self.settings.tool_prefix);
        let more = if left == 0 {
            String::new()
        } else {
            format!(" ({left} more are not shown)")
        };
        let message = format!(
            "{} workflows can be started with `{start}`{more}",
            entries.len()
        );
        let (values, lines): (Vec<Value>, Vec<String>) = shown.into_iter().unzip();
        let mut object = interlock_core::machine::Object::new();
        object.insert("workflows".to_owned(), Value::Array(values));
        Ok(Answer::without_run(&message, object).with_text(&lines.join("\n")))
    }
}

/// Describes a workflow, as a value and in one line.
fn described(library: &Library, entry: &Entry) -> (Value, String) {
    let Entry { name, origin, .. } = entry;
    let origin = origin.as_str();
    match by_name(library, name) {
        Ok((_, machine)) => {
            let phases: Vec<&str> = phases(&machine).collect();
            let meta = SHOWN_META
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), machine.meta.get(*key)?.clone())));
            let mut value = json!({"name": name, "origin": origin, "id": machine.id, "initial": machine.initial, "states": phases});
            if let Value::Object(object) = &mut value {
                object.extend(meta);
            }
            (value, format!("- {name} ({origin}): {}", phases.join(", ")))
        }
        Err(refused) => {
            let first = refused
                .message
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let line = format!("- {name} ({origin}): cannot be started: {first}");
            (
                json!({"name": name, "origin": origin, "problem": first}),
                line,
            )
        }
    }
}

/// Returns the names of the states as in the file.
fn phases(machine: &Machine) -> impl Iterator<Item = &str> {
    machine
        .states
        .iter()
        .filter(|(_, state)| state.shown_as.is_none())
        .map(|(name, _)| name.as_str())
}

/// Loads the workflow that is listed under `name`, which cannot be a path or a draft.
pub(super) fn by_name(library: &Library, name: &str) -> Result<(Source, Machine), Refused> {
    let listed = library.list();
    let source = if listed.iter().any(|entry| entry.name == name) {
        library.find(name)
    } else {
        None
    };
    let Some(source) = source else {
        let known: Vec<String> = listed
            .iter()
            .map(|entry| format!("`{}`", entry.name))
            .collect();
        let message = format!(
            "no workflow is called `{name}`; there are {}",
            known.join(", ")
        );
        return Err(Refused::new(Word::UnknownWorkflow, message));
    };
    let source = source.map_err(|error| Refused::new(Word::Unavailable, error))?;
    let loaded = load(&source, None, library).map_err(|diagnostics| {
        mistakes(&format!("workflow `{name}` has mistakes"), &diagnostics)
    })?;
    Ok((source, loaded.machine))
}

/// Refuses a workflow with all its errors.
pub(super) fn mistakes(what: &str, diagnostics: &[Diagnostic]) -> Refused {
    let errors: Vec<Diagnostic> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .cloned()
        .collect();
    let first = errors.first().map_or_else(String::new, |error| {
        format!(
            " (line {}, column {}: {})",
            error.line, error.column, error.message
        )
    });
    let text = cut(render(&errors, false).trim_end());
    Refused::new(Word::InvalidWorkflow, format!("{what}{first}:\n{text}\n"))
}

/// Formats warnings for a model; returns `None` if there are none.
pub(super) fn warnings(diagnostics: &[Diagnostic]) -> Option<String> {
    let text = cut(render(diagnostics, false).trim_end());
    (!text.is_empty()).then_some(text)
}

fn cut(text: &str) -> String {
    if text.chars().count() <= REPORT_CHARS_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(REPORT_CHARS_MAX).collect();
    format!("{head}…\n(cut: correct these first)")
}
