//! Templates: blocks that cannot be parsed, and names that nothing sets.

use std::collections::BTreeSet;

use interlock_expr::{nearest::nearest, template::Template};
use serde_json::Value;

use super::graph::{followers, state};
use crate::codemie::{
    UNSET_VARIABLE,
    notes::{Notes, shown},
    syntax::{Does, Named, Server, Shape, Start, State, Way, Workflow},
};

pub(super) fn check(workflow: &Workflow, notes: &mut Notes<'_>) {
    for assistant in &workflow.assistants {
        let prompt = assistant.system_prompt.iter();
        prompt.for_each(|text| notes.template(text));
        assistant.servers.iter().for_each(|one| server(one, notes));
    }
    for tool in &workflow.tools {
        let texts = tool.arguments.iter().flat_map(|one| &one.texts);
        texts.for_each(|text| notes.template(text));
        tool.server.iter().for_each(|one| server(one, notes));
    }
    for node in &workflow.nodes {
        node.system_prompt
            .iter()
            .for_each(|text| notes.template(text));
    }
    let known = known(workflow);
    let open = behind_open(workflow);
    for state in &workflow.states {
        let near = match open.contains(state.id.text.as_str()) {
            true => UnsetNames::Only,
            false => UnsetNames::OrNone,
        };
        for text in texts(state) {
            notes.template(text);
            if let Some(known) = &known {
                unset(text, known, near, notes);
            }
        }
    }
}

/// Which unset names are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnsetNames {
    /// Only those similar to one that is set: an earlier state may set others.
    Only,
    /// All: no earlier state can set them.
    OrNone,
}

/// Returns the states after which the context may have any key.
fn behind_open(workflow: &Workflow) -> BTreeSet<&str> {
    let sets_any = |state: &&State| match &state.next {
        None => true,
        Some(next) => {
            matches!(next.way, Way::Items { .. } | Way::Broken)
                || (next.flags.store && given(state).is_none())
        }
    };
    let first = workflow.states.iter().filter(sets_any);
    let mut open: Vec<&str> = first.flat_map(followers).collect();
    let mut behind = BTreeSet::new();
    while let Some(name) = open.pop() {
        if behind.insert(name) {
            open.extend(state(workflow, name).map(followers).unwrap_or_default());
        }
    }
    behind
}

/// Returns the templates of a state.
fn texts(state: &State) -> impl Iterator<Item = &Named> {
    let task = state.task.iter().filter(|_| state.fills_prompt);
    let arguments = state.arguments.iter().flat_map(|one| &one.texts);
    task.chain(arguments)
}

fn server(server: &Server, notes: &mut Notes<'_>) {
    match &server.start {
        Some(Start::Program {
            command,
            arguments,
            env,
        }) => {
            notes.template(command);
            chosen("the program", command, notes);
            for text in arguments {
                notes.template(text);
                chosen("an argument of the program", text, notes);
            }
            env.iter().for_each(|(_, text)| notes.template(text));
        }
        Some(Start::Address {
            url,
            headers,
            token,
            ..
        }) => {
            notes.template(url);
            chosen("the address", url, notes);
            headers.iter().for_each(|(_, text)| notes.template(text));
            token.iter().for_each(|text| notes.template(text));
        }
        _ => {}
    }
}

/// Warns of a server that depends on the data of the run.
fn chosen(what: &str, text: &Named, notes: &mut Notes<'_>) {
    let mut starts = ["{{", "{%"].into_iter();
    let first = starts.find_map(|start| text.text.find(start));
    if !Template::new(text.text.as_str()).has_blocks() {
        return;
    }
    let span = notes.within(text.span, &text.text, first.unwrap_or_default(), 2);
    notes
        .report
        .warning(
            span,
            "server_from_data",
            format!("{what} is chosen by the data of the run"),
        )
        .help(
            "write it out; a run in a project that is not trusted asks before it starts the server",
        );
}

/// Returns every name that is known to be set; `None` if a state could not be parsed.
fn known(workflow: &Workflow) -> Option<BTreeSet<String>> {
    let always = ["task", "interlock", "file_names"].map(str::to_owned);
    let mut known = BTreeSet::from(always);
    for state in &workflow.states {
        let next = state.next.as_ref()?;
        known.extend(next.flags.output_key.iter().map(|key| key.text.clone()));
        if next.flags.store {
            known.extend(given(state).into_iter().flatten());
        }
    }
    Some(known)
}

/// Returns the keys of a state's output; `None` if unknown.
fn given(state: &State) -> Option<Vec<String>> {
    let Some(Does::Assistant(_)) = &state.does else {
        return None;
    };
    let Shape::Enforced(schema) = &state.schema.as_ref()?.shape else {
        return None;
    };
    let is_open = schema
        .get("additionalProperties")
        .is_some_and(|more| *more != Value::Bool(false));
    let properties = schema.get("properties")?.as_object().filter(|_| !is_open)?;
    Some(properties.keys().cloned().collect())
}

/// Reports names in a template that no state sets; only the input of the run can provide them.
fn unset(text: &Named, known: &BTreeSet<String>, told: UnsetNames, notes: &mut Notes<'_>) {
    for name in Template::new(text.text.as_str()).names() {
        if known.contains(&name) {
            continue;
        }
        let near = nearest(&name, known.iter().map(String::as_str));
        if near.is_none() && told == UnsetNames::Only {
            continue;
        }
        let at = text.text.find(name.as_str()).unwrap_or_default();
        let span = notes.within(text.span, &text.text, at, name.len());
        let name = shown(&name);
        let (message, help) = match near {
            Some(near) => (
                format!("no state sets `{name}`: did you mean `{near}`?"),
                format!("write `{near}`, or give `{name}` with the input"),
            ),
            None => (
                format!("no state sets `{name}`"),
                format!("give it with the input of the run, or with `--var {name}=…`"),
            ),
        };
        let problem = notes.report.warning(span, UNSET_VARIABLE, message);
        problem.help(help);
    }
}
