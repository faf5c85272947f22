//! A file with valid syntax, and its format.

use interlock_core::machine::Machine;
use interlock_expr::nearest::nearest;
use interlock_validate::Severity;
use serde_json::Value;

use crate::{
    InputKind,
    bundle::Bundle,
    detect::{self, Found, detect},
    diagnostic::{Diagnostic, Report},
    loaded::Loaded,
    native::{self, Reading, Start},
    node::{Entry, Node},
    parse::{parse, parse_as_written},
    pipeline::Input,
    source::{Files, Source, Span, Workflows},
    table::Fields,
};

/// Code of the error that one of several workflows must be named.
pub(crate) const NO_CHOICE: &str = "no_choice";

/// A file with valid syntax.
pub(crate) struct Opened {
    pub(crate) files: Files,
    pub(crate) report: Report,
    pub(crate) tree: Option<Node>,
    /// Its format, which determines how its scalars are kept.
    pub(crate) format: Format,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The native format, or an unknown one.
    Native,
    /// FlowState, whose scalars are kept as written.
    FlowState,
    /// CodeMie, whose scalars are kept as written.
    CodeMie,
    /// The pipeline format.
    Pipeline,
}

impl Format {
    /// Returns whether Interlock itself runs workflows of this format.
    pub(crate) const fn is_of_steps(self) -> bool {
        matches!(self, Self::FlowState | Self::CodeMie | Self::Pipeline)
    }
}

impl Opened {
    pub(crate) fn new(source: &Source) -> Self {
        let mut files = Files::default();
        let file = files.add(source.clone());
        if let Some((tree, report)) = flowstate_tree(&files, file) {
            return Self {
                files,
                report,
                tree,
                format: Format::FlowState,
            };
        }
        if let Some((tree, report)) = codemie_tree(&files, file) {
            return Self {
                files,
                report,
                tree,
                format: Format::CodeMie,
            };
        }
        let mut report = Report::default();
        let tree = parse(&files, file, &mut report);
        let found = tree
            .as_ref()
            .and_then(|tree| detect(tree, &mut Report::default()));
        let format = match found {
            Some(Found::Pipeline(_)) => Format::Pipeline,
            _ => Format::Native,
        };
        Self {
            files,
            report,
            tree,
            format,
        }
    }

    /// Returns the names of the workflows, if there are several.
    pub(crate) fn names(&self) -> Vec<String> {
        let tree = self.tree.as_ref();
        match tree.and_then(|tree| detect(tree, &mut Report::default())) {
            Some(Found::Gateway(fields)) if self.format == Format::Native => {
                let entries = entries(&fields).iter();
                entries.map(|entry| entry.key.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the names by which to load everything in the file; `None` if it is the only one.
    pub(crate) fn all(&self) -> Vec<Option<String>> {
        let names = self.names();
        if names.is_empty() {
            return vec![None];
        }
        names.into_iter().map(Some).collect()
    }

    pub(crate) fn load_native(
        &self,
        which: Option<&str>,
        others: &dyn Workflows,
    ) -> Result<Loaded, Vec<Diagnostic>> {
        let mut report = self.report.clone();
        let chosen = self.tree.as_ref().and_then(|tree| {
            let found = detect(tree, &mut report)?;
            choose(found, tree, which, &mut report)
        });
        let Some(chosen) = chosen else {
            return Err(report.into_diagnostics(&self.files));
        };
        let start = Start {
            node: chosen.node,
            name: chosen.name,
            siblings: chosen.siblings,
            others,
        };
        let reading = native::read(start, self.files.clone(), report);
        let (machine, warnings) = finish(reading)?;
        let inputs = inputs_of(&machine);
        Ok(Loaded {
            machine,
            warnings,
            name: chosen.name.map(str::to_owned),
            upstream_servers: chosen.upstream_servers.map(Node::to_value),
            variables: Vec::new(),
            inputs,
            bundle: Bundle::default(),
        })
    }
}

/// Parses a file in the CodeMie format, if it is one.
fn codemie_tree(files: &Files, file: usize) -> Option<(Option<Node>, Report)> {
    let (_, text) = files.name_and_text(file);
    if !CODEMIE_WORDS.iter().any(|word| text.contains(word)) && !has_list_of_states(text) {
        return None;
    }
    let mut report = Report::default();
    let tree = parse_as_written(files, file, &mut report);
    let is_one = match &tree {
        Some(tree) => detect::is_codemie(tree),
        None => has_list_of_states(text),
    };
    is_one.then_some((tree, report))
}

/// Keys of which a CodeMie file has one if its states are not a list.
const CODEMIE_WORDS: [&str; 2] = ["execution_config", "assistants"];

/// Returns whether a top-level key `states` is followed by a list, according to the text.
fn has_list_of_states(text: &str) -> bool {
    let begins_list = |rest: &str| {
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let Some(rest) = rest.strip_prefix(':') else {
            return false;
        };
        let mut lines = rest.lines().map(|line| line.trim_start());
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        first.is_some_and(|line| line.starts_with(['-', '[']))
    };
    let mut places = text.match_indices("states");
    places.any(|(at, word)| text.get(at + word.len()..).is_some_and(begins_list))
}

/// Parses a file in the FlowState format, if it is one.
///
/// A file that cannot be parsed counts as one if a line of it begins like those of FlowState.
fn flowstate_tree(files: &Files, file: usize) -> Option<(Option<Node>, Report)> {
    let (_, text) = files.name_and_text(file);
    if !text.contains("start-at") && !text.contains("extends") {
        return None;
    }
    let mut report = Report::default();
    let tree = parse_as_written(files, file, &mut report);
    let is_one = match &tree {
        Some(tree) => detect::is_flowstate(tree) && !detect::has_two_marks(tree),
        None => text.lines().any(begins_flowstate),
    };
    is_one.then_some((tree, report))
}

fn begins_flowstate(line: &str) -> bool {
    let rest = line.trim_start_matches(['\u{feff}', '{', ' ']);
    let rest = rest.trim_start_matches(['"', '\'']);
    let rest = rest
        .strip_prefix("start-at")
        .or_else(|| rest.strip_prefix("extends"));
    rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
}

/// Returns why a workflow cannot guard an agent; `None` if it can.
pub(crate) fn fault_of_guard(source: &Source, others: &dyn Workflows) -> Option<String> {
    let opened = Opened::new(source);
    let format = match opened.format {
        Format::FlowState => Some("FlowState"),
        Format::CodeMie => Some("CodeMie"),
        Format::Pipeline => Some("pipeline"),
        Format::Native => None,
    };
    if let Some(format) = format {
        return Some(format!("`{}` is a {format} workflow", source.name));
    }
    let found = opened.load_native(None, others).err()?;
    let first = found
        .iter()
        .find(|found| found.severity == Severity::Error)?;
    Some(format!(
        "`{}` has errors, the first in line {}: {}",
        source.name, first.line, first.message
    ))
}

/// The definition to read, and its surroundings.
struct Chosen<'n> {
    node: &'n Node,
    name: Option<&'n str>,
    siblings: &'n [Entry],
    upstream_servers: Option<&'n Node>,
}

fn choose<'n>(
    found: Found<'n>,
    tree: &'n Node,
    which: Option<&str>,
    report: &mut Report,
) -> Option<Chosen<'n>> {
    let (node, upstream_servers) = match found {
        Found::Gateway(fields) => return choose_named(&fields, which, report),
        Found::Definition(node) | Found::Pipeline(node) => (node, None),
        Found::Wrapper(fields) => (fields.get("definition")?, fields.get("upstream_servers")),
    };
    let id = node.get("id").and_then(|entry| entry.value.text());
    if let Some(which) = which.filter(|which| id != Some(which)) {
        let held = id
            .map(|id| format!(": it holds `{id}`"))
            .unwrap_or_default();
        report.error(
            start_of(tree),
            NO_CHOICE,
            format!("there is no workflow `{which}` in this file{held}"),
        );
        return None;
    }
    Some(Chosen {
        node,
        name: None,
        siblings: &[],
        upstream_servers,
    })
}

fn choose_named<'n>(
    fields: &Fields<'n>,
    which: Option<&str>,
    report: &mut Report,
) -> Option<Chosen<'n>> {
    let siblings = entries(fields);
    let names = || siblings.iter().map(|entry| entry.key.as_str());
    let wanted = match (which, fields.get("default"), siblings) {
        (Some(which), _, _) => Some((which, start_of(fields.node))),
        (None, Some(node), _) => node.text().map(|name| (name, node.span)),
        (None, None, [only]) => Some((only.key.as_str(), only.key_span)),
        (None, None, _) => None,
    };
    let Some((name, span)) = wanted else {
        let known: Vec<String> = names().map(|name| format!("`{name}`")).collect();
        let message = if known.is_empty() {
            "there is no workflow in this file"
        } else {
            "no workflow is named and there is no `default`"
        };
        report
            .error(start_of(fields.node), NO_CHOICE, message)
            .help(match known.as_slice() {
                [] => "add one below `workflows`".to_owned(),
                known => format!("name one of {}, or add `default`", known.join(", ")),
            });
        return None;
    };
    let Some(entry) = siblings.iter().find(|entry| entry.key == name) else {
        let near = nearest(name, names())
            .map(|near| format!(": did you mean `{near}`?"))
            .unwrap_or_default();
        report.error(
            span,
            "undefined_workflow",
            format!("there is no workflow `{name}` below `workflows`{near}"),
        );
        return None;
    };
    Some(Chosen {
        node: &entry.value,
        name: Some(&entry.key),
        siblings,
        upstream_servers: fields.get("upstream_servers"),
    })
}

fn entries<'n>(fields: &Fields<'n>) -> &'n [Entry] {
    fields
        .get("workflows")
        .map(Node::entries)
        .unwrap_or_default()
}

pub(crate) fn start_of(node: &Node) -> Span {
    Span {
        end: node.span.start + 1,
        ..node.span
    }
}

fn finish(mut reading: Reading) -> Result<(Machine, Vec<Diagnostic>), Vec<Diagnostic>> {
    native::add_findings(&mut reading);
    let failed = reading.report.has_errors();
    let diagnostics = reading.report.into_diagnostics(&reading.files);
    if failed {
        return Err(diagnostics);
    }
    Ok((reading.machine.seal(), diagnostics))
}

/// Returns the inputs of a native workflow of stages: every key of its context, with its initial value.
fn inputs_of(machine: &Machine) -> Vec<Input> {
    if !machine.durable {
        return Vec::new();
    }
    let context = machine.context.iter();
    let input = |(name, value): (&String, &Value)| Input {
        name: name.clone(),
        kind: match value {
            Value::Null => InputKind::Any,
            Value::Bool(_) => InputKind::Boolean,
            Value::Number(_) => InputKind::Number,
            Value::String(_) => InputKind::String,
            Value::Array(_) => InputKind::Array,
            Value::Object(_) => InputKind::Object,
        },
        default: Some(value.clone()),
        required: false,
        description: None,
    };
    context.map(input).collect()
}
