//! Detects the format of a file.

use crate::{
    diagnostic::Report,
    native::{GATEWAY, WRAPPER},
    node::{Kind, Node},
    source::Span,
    table::Fields,
};

/// Contents of a file.
#[derive(Debug)]
pub(crate) enum Found<'n> {
    /// A workflow in the native format.
    Definition(&'n Node),
    /// A native workflow with its MCP servers.
    Wrapper(Fields<'n>),
    /// Several workflows by name.
    Gateway(Fields<'n>),
    /// A pipeline.
    Pipeline(&'n Node),
}

/// Fields that only one format has.
struct Mark {
    format: &'static str,
    field: &'static str,
    span: Span,
}

/// Detects the contents of a file, or reports why they are unknown.
pub(crate) fn detect<'n>(tree: &'n Node, report: &mut Report) -> Option<Found<'n>> {
    if !matches!(tree.kind, Kind::Map(_)) {
        let message = format!(
            "a workflow file contains an object, not {}",
            tree.describe()
        );
        report
            .error(tree.span, "wrong_type", message)
            .help("begin with `id`, `initial` and `states`");
        return None;
    }
    let marks = marks(tree);
    let first = marks.first();
    if let Some((first, second)) = first.and_then(|first| {
        Some((
            first,
            marks.iter().find(|mark| mark.format != first.format)?,
        ))
    }) {
        let message = format!(
            "`{}` is a mark of the {} format and `{}` of the {} format",
            first.field, first.format, second.field, second.format
        );
        report
            .error(tree.span, "two_formats", message)
            .help("keep to one format in a file");
        return None;
    }
    match first.map(|mark| (mark.format, mark.field, mark.span)) {
        None if looks_native(tree) => Some(Found::Definition(tree)),
        None => {
            report
                .error(tree.span, "no_format", "no format is recognised: none of `states`, `stages`, `start-at`, `extends`, `definition`, `workflows` is there")
                .help("a workflow has `id`, `initial` and `states`; a pipeline has `id` and `stages`");
            None
        }
        Some(("native", "definition", _)) => WRAPPER.read(tree, report).map(Found::Wrapper),
        Some(("native", "workflows", _)) => GATEWAY.read(tree, report).map(Found::Gateway),
        Some(("native", _, _)) => Some(Found::Definition(tree)),
        Some(("pipeline", _, _)) => Some(Found::Pipeline(tree)),
        Some((format, _, span)) => {
            report
                .error(
                    span,
                    "unsupported",
                    format!("the {format} format is not supported yet"),
                )
                .help("write the workflow in the native format: `id`, `initial` and `states`");
            None
        }
    }
}

/// Returns whether a file is in the FlowState format.
pub(crate) fn is_flowstate(tree: &Node) -> bool {
    let has = |field: &str| tree.get(field).is_some();
    has("start-at") || (has("extends") && !has("initial") && !has("stages"))
}

/// Returns whether a file is in the CodeMie format.
pub(crate) fn is_codemie(tree: &Node) -> bool {
    !has_two_marks(tree) && marks(tree).iter().any(|mark| mark.format == "CodeMie")
}

/// Returns whether a file lists assistants like a CodeMie file, whatever its `states` are.
fn lists_assistants(tree: &Node) -> bool {
    let is_list = tree
        .get("assistants")
        .is_some_and(|entry| matches!(entry.value.kind, Kind::List(_)));
    let is_native = ["initial", "definition", "workflows"]
        .iter()
        .any(|field| tree.get(field).is_some());
    is_list && !is_native
}

/// Returns whether a file with a list of states has other keys that only the native format has.
fn is_native_by_the_rest(tree: &Node) -> bool {
    let has = |field: &str| tree.get(field).is_some();
    let is_codemie = ["execution_config", "assistants", "custom_nodes", "tools"];
    has("id") && has("initial") && !is_codemie.into_iter().any(has)
}

/// Returns whether a file has marks of more than one format.
pub(crate) fn has_two_marks(tree: &Node) -> bool {
    let marks = marks(tree);
    let first = marks.first().map(|mark| mark.format);
    marks.iter().any(|mark| Some(mark.format) != first)
}

/// Returns whether a file that FlowState refers to is clearly in another format.
pub(crate) fn is_other_format(tree: &Node) -> bool {
    let has = |field: &str| tree.get(field).is_some();
    let is_list = tree
        .get("states")
        .is_some_and(|entry| matches!(entry.value.kind, Kind::List(_)));
    let marked = ["initial", "stages", "definition", "workflows"];
    !is_flowstate(tree) && (is_list || marked.into_iter().any(has))
}

/// Returns the marks of formats in the order of the file.
fn marks(tree: &Node) -> Vec<Mark> {
    let others = ["stages", "start-at", "extends"]
        .iter()
        .any(|field| tree.get(field).is_some());
    let mark = |entry: &crate::node::Entry| {
        let (format, field) = match (entry.key.as_str(), &entry.value.kind) {
            ("stages", _) => ("pipeline", "stages"),
            ("start-at", _) => ("FlowState", "start-at"),
            ("extends", _) if is_flowstate(tree) => ("FlowState", "extends"),
            ("states", Kind::List(_)) if is_native_by_the_rest(tree) => ("native", "states"),
            ("states", Kind::List(_)) => ("CodeMie", "states"),
            ("execution_config", Kind::Map(_)) => ("CodeMie", "execution_config"),
            ("assistants", _) if lists_assistants(tree) => ("CodeMie", "assistants"),
            ("definition", _) => ("native", "definition"),
            ("workflows", _) => ("native", "workflows"),
            // FlowState has such a map as well.
            ("states", _) if lists_assistants(tree) => ("CodeMie", "states"),
            ("states", _) if !others || tree.get("stages").is_some() => ("native", "states"),
            _ => return None,
        };
        Some(Mark {
            format,
            field,
            span: entry.key_span,
        })
    };
    tree.entries().iter().filter_map(mark).collect()
}

/// Returns whether a file has a mark of any format.
pub(crate) fn has_marks(tree: &Node) -> bool {
    !marks(tree).is_empty() || looks_native(tree)
}

/// Returns whether a file without any mark looks like a native one.
fn looks_native(tree: &Node) -> bool {
    tree.get("initial").is_some()
}
