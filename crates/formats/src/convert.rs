//! Converts a workflow of any format to the native format, as far as possible.

use serde_json::{Map, Value};

use crate::{
    diagnostic::{Diagnostic, Report},
    native::STATE,
    node::{Kind, Node},
    opened::{Format, Opened},
    source::{Source, Workflows},
    yaml_text,
};

/// Syntax of a workflow file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, indented.
    Json,
    /// YAML, in blocks.
    Yaml,
}

/// A workflow in the native format.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// Value of the file: a definition, or one with its wrapper.
    pub value: Value,
}

impl Converted {
    /// Writes it as a file.
    #[must_use]
    pub fn text(&self, syntax: Syntax) -> String {
        match syntax {
            Syntax::Json => format!("{:#}\n", self.value),
            Syntax::Yaml => yaml_text::written(&self.value),
        }
    }
}

/// Converts a workflow to the native format.
///
/// The result loads as the same machine as `source`. A native file keeps its wrapper, its fields get their canonical spelling,
/// and its comments are lost.
///
/// # Errors
/// Everything that is wrong with the file; or, for a valid file, everything in it that the native format cannot express.
pub fn convert(source: &Source, others: &dyn Workflows) -> Result<Converted, Vec<Diagnostic>> {
    let opened = Opened::new(source);
    for name in opened.all() {
        opened.load(name.as_deref(), others, false)?;
    }
    let Some(tree) = &opened.tree else {
        return Err(Vec::new());
    };
    if opened.format == Format::FlowState {
        let mut report = Report::default();
        steps(tree, &mut report);
        return Err(report.into_diagnostics(&opened.files));
    }
    if let Some(stages) = tree.get("stages") {
        let mut report = Report::default();
        report
            .error(
                stages.key_span,
                "not_native",
                "a pipeline cannot be converted: a native workflow has no settings, inputs and branches of stages",
            )
            .help("keep the file as it is; a native state with `type: stage` has the same keys in snake_case");
        return Err(report.into_diagnostics(&opened.files));
    }
    if opened.format == Format::CodeMie {
        let mut report = Report::default();
        let states = tree
            .get("states")
            .map_or(tree.span, |states| states.key_span);
        report
            .error(
                states,
                "not_native",
                "a CodeMie file cannot be converted: a native workflow has no assistants, conversation and lines of states",
            )
            .help("keep the file as it is: `interlock run` takes it");
        return Err(report.into_diagnostics(&opened.files));
    }
    let mut value = tree.to_value();
    spell_file(&mut value);
    Ok(Converted { value })
}

/// Gives every field of a file its canonical spelling.
fn spell_file(value: &mut Value) {
    spell(value);
    if let Some(definition) = value.get_mut("definition") {
        spell(definition);
    }
    if let Some(Value::Object(workflows)) = value.get_mut("workflows") {
        workflows.values_mut().for_each(spell);
    }
}

/// Gives every field of a workflow its canonical spelling.
fn spell(workflow: &mut Value) {
    if let Some(Value::Object(states)) = workflow.get_mut("states") {
        for state in states.values_mut() {
            spell_state(state);
        }
    }
    if let Some(Value::Object(machines)) = workflow.get_mut("machines") {
        machines.values_mut().for_each(spell);
    }
}

fn spell_state(state: &mut Value) {
    let Value::Object(fields) = state else {
        return;
    };
    let spelled: Map<String, Value> = std::mem::take(fields)
        .into_iter()
        .map(|(name, value)| {
            let known = STATE
                .fields
                .iter()
                .find(|field| field.aliases.contains(&name.as_str()));
            (known.map_or(name, |field| field.name.to_owned()), value)
        })
        .collect();
    *fields = spelled;
}

/// Parts of a FlowState file besides its states that have no counterpart.
const TOP: [(&str, &str); 5] = [
    ("extends", "a native workflow takes over no other's states"),
    ("tools", "a native workflow defines no tools"),
    (
        "shell-safe",
        "a native workflow puts no values into commands",
    ),
    ("cwd", "a native workflow starts no commands"),
    (
        "max-transitions",
        "a native workflow bounds calls by `max_iterations`, not the states of a run",
    ),
];

/// Reports everything in a FlowState file that has no counterpart.
fn steps(tree: &Node, report: &mut Report) {
    for (key, why) in TOP {
        if let Some(entry) = tree.get(key).filter(|entry| entry.value.kind != Kind::Null) {
            report
                .error(
                    entry.key_span,
                    "not_native",
                    format!("`{key}` cannot be converted: {why}"),
                )
                .help(REMEDY);
        }
    }
    states_of(tree, report);
}

const REMEDY: &str =
    "keep the file as it is: `interlock run` carries it out, and its steps may name a `guard`";

fn states_of(node: &Node, report: &mut Report) {
    let Some(states) = node.get("states") else {
        return;
    };
    for state in states.value.entries() {
        action(&format!("the state `{}`", state.key), &state.value, report);
    }
}

/// Reports what a state, a task or the items of a loop do.
fn action(what: &str, node: &Node, report: &mut Report) {
    let tool = node.get("tool").map(|entry| &entry.value);
    if let Some((node, name)) = tool.and_then(|node| Some((node, node.text()?))) {
        report
            .error(
                node.span,
                "not_native",
                format!("{what} cannot be converted: {}", why(name)),
            )
            .help(REMEDY);
    }
    let arguments = node.get("arguments").map(|entry| &entry.value);
    for place in [Some(node), arguments].into_iter().flatten() {
        states_of(place, report);
    }
    let inner = |key: &str| arguments?.get(key).map(|entry| &entry.value);
    let tasks = inner("tasks").map(Node::items).unwrap_or_default();
    for (index, task) in tasks.iter().enumerate() {
        action(&format!("task {index}"), task, report);
    }
    if let Some(source) = inner("items-from") {
        action("the source of the items", source, report);
    }
}

/// Returns why a tool has no counterpart.
fn why(tool: &str) -> String {
    match tool {
        "ask-user" => {
            "a native state asks nobody; `requires_approval` on a transition does, for yes or no"
                .to_owned()
        }
        "pause" => "no event of a native state comes from a person alone".to_owned(),
        "sub-flow" | "parallel" | "for-each" => {
            format!("what `{tool}` holds is carried out, and a native state only holds an agent")
        }
        "switch" => "a native state waits for an event of its agent before it chooses".to_owned(),
        test if test.starts_with("if-") => {
            "a native state waits for an event of its agent before it chooses".to_owned()
        }
        _ => format!("it runs `{tool}`, and a native state runs nothing: an agent works in it"),
    }
}
