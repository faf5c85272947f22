//! Data flow between states: tasks, arguments, items.

use interlock_expr::nearest::nearest;
use serde_json::Value;

use crate::codemie::{
    lower::routes::Routes,
    notes::{Notes, shown},
    state::END,
    syntax::{Does, Named, Shape, State, Tool, Way, Workflow},
    tools::builtin,
};

pub(super) fn check(workflow: &Workflow, notes: &mut Notes<'_>) {
    for tool in &workflow.tools {
        pointer(tool, notes);
    }
    for state in &workflow.states {
        task(state, notes);
        arguments(workflow, state, notes);
        items(state, notes);
        several_ways_out(workflow, state, notes);
    }
}

/// Refuses branches within an item that end at different states: an item must end at one.
fn several_ways_out(workflow: &Workflow, state: &State, notes: &mut Notes<'_>) {
    let Some(next) = &state.next else { return };
    let (Way::All(targets), true) = (&next.way, next.flags.per_item) else {
        return;
    };
    let routes = Routes::new(workflow, END, false);
    let mut ways: Vec<String> = Vec::new();
    for target in targets {
        for exit in routes.exits(&target.text) {
            let exit = format!("`{}`", shown(exit.as_str()));
            if !ways.contains(&exit) {
                ways.push(exit);
            }
        }
    }
    if ways.len() > 1 {
        notes
            .report
            .error(
                state.id.span,
                "several_ways_out",
                format!(
                    "the branches of an item in `{}` end at several states: {}",
                    shown(&state.id.text),
                    ways.join(", ")
                ),
            )
            .help("lead them to one state, or leave `per_item` out");
    }
}

fn pointer(tool: &Tool, notes: &mut Notes<'_>) {
    let Some(pointer) = &tool.pointer else {
        return;
    };
    if !pointer.text.is_empty() && !pointer.text.starts_with('/') {
        notes
            .report
            .error(
                pointer.span,
                "wrong_value",
                format!("`{}` is not a JSON Pointer", shown(&pointer.text)),
            )
            .help(format!(
                "a JSON Pointer begins with `/`: `/{}`",
                shown(&pointer.text)
            ));
    }
}

fn task(state: &State, notes: &mut Notes<'_>) {
    match (&state.does, &state.task) {
        (Some(Does::Tool(_)), Some(task)) => {
            notes
                .report
                .warning(
                    task.span,
                    "task_without_effect",
                    format!(
                        "`task` has no effect in `{}`: a tool reads none",
                        shown(&state.id.text)
                    ),
                )
                .help("remove it, or give the tool what it needs in `tool_args`");
        }
        // If there are errors, a task may be what could not be parsed.
        (Some(Does::Assistant(_)), task)
            if task.as_ref().is_none_or(|task| task.text.trim().is_empty())
                && !notes.report.has_errors() =>
        {
            notes
                .report
                .warning(
                    state.id.span,
                    "no_task",
                    format!(
                        "`{}` has no `task`: the model is sent `-`",
                        shown(&state.id.text)
                    ),
                )
                .help("add `task` with the instruction");
        }
        _ => {}
    }
}

fn arguments(workflow: &Workflow, state: &State, notes: &mut Notes<'_>) {
    let tool = match &state.does {
        Some(Does::Tool(id)) => workflow.tools.iter().find(|tool| tool.id.text == id.text),
        Some(_) if state.arguments.is_some() => {
            notes
                .report
                .warning(
                    state.id.span,
                    "arguments_without_effect",
                    format!(
                        "`tool_args` have no effect in `{}`, which calls no tool",
                        shown(&state.id.text)
                    ),
                )
                .help("remove them, or name a tool with `tool_id`");
            return;
        }
        _ => None,
    };
    let Some(tool) = tool else {
        return;
    };
    match (&state.arguments, &tool.arguments) {
        (Some(over), Some(under)) => {
            let kept = under
                .values
                .keys()
                .filter(|key| !over.values.contains_key(*key));
            let kept: Vec<String> = kept.map(|key| format!("`{}`", shown(key))).collect();
            if !kept.is_empty() {
                notes.report.note(
                    state.id.span,
                    "inherited_arguments",
                    format!(
                        "`{}` takes {} over from the tool `{}`",
                        shown(&state.id.text),
                        kept.join(", "),
                        shown(&tool.id.text)
                    ),
                );
            }
        }
        (None, None) => from_context(state, tool, notes),
        _ => {}
    }
    let given = [&tool.arguments, &state.arguments].into_iter().flatten();
    let names = given.flat_map(|one| one.values.keys());
    known_arguments(state, tool, names, notes);
}

/// Reports which context keys become arguments if none are written.
fn from_context(state: &State, tool: &Tool, notes: &mut Notes<'_>) {
    let parameters = builtin(&tool.tool.text).map(|(_, parameters)| *parameters);
    let names: Vec<String> = parameters
        .unwrap_or_default()
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let from = if names.is_empty() {
        "its parameters".to_owned()
    } else {
        names.join(", ")
    };
    notes
        .report
        .warning(
            state.id.span,
            "arguments_from_context",
            format!(
                "`{}` gives the tool `{}` no arguments: {from} are taken from context keys of the same name",
                shown(&state.id.text),
                shown(&tool.tool.text)
            ),
        )
        .help("write `tool_args`");
}

fn known_arguments<'n>(
    state: &State,
    tool: &Tool,
    given: impl Iterator<Item = &'n String>,
    notes: &mut Notes<'_>,
) {
    let Some((_, parameters)) = builtin(&tool.tool.text).filter(|_| tool.server.is_none()) else {
        return;
    };
    for name in given {
        if parameters.iter().any(|(known, _)| known == name) {
            continue;
        }
        let near = nearest(name, parameters.iter().map(|(known, _)| *known));
        let guess = near
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        let known: Vec<String> = parameters
            .iter()
            .map(|(known, _)| format!("`{known}`"))
            .collect();
        notes
            .report
            .error(
                state.id.span,
                "unknown_argument",
                format!(
                    "the tool `{}` has no argument `{}`{guess}",
                    tool.tool.text,
                    shown(name)
                ),
            )
            .help(format!("it has {}", known.join(", ")));
    }
}

fn items(state: &State, notes: &mut Notes<'_>) {
    let Some(Way::Items { key, .. }) = state.next.as_ref().map(|next| &next.way) else {
        return;
    };
    let Some(Shape::Enforced(schema)) = state.schema.as_ref().map(|schema| &schema.shape) else {
        return;
    };
    let plain = key.text != "." && !key.text.starts_with('/');
    if let (true, Some(missing)) = (plain, lacks(schema, key)) {
        notes
            .report
            .warning(
                key.span,
                "iter_key_not_in_schema",
                format!(
                    "`iter_key` is `{}`, which the `output_schema` of `{}` does not have",
                    shown(&key.text),
                    shown(&state.id.text)
                ),
            )
            .help(missing);
    }
}

/// Returns advice if a schema lists its properties and the key is not one of them.
fn lacks(schema: &Value, key: &Named) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    if properties.contains_key(&key.text) {
        return None;
    }
    let names: Vec<String> = properties.keys().map(|name| format!("`{name}`")).collect();
    Some(
        match nearest(&key.text, properties.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", names.join(", ")),
        },
    )
}
