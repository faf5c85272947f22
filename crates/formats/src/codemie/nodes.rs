//! The types of custom nodes, and the keys of each `config`.

use interlock_expr::nearest::nearest;

use super::{
    document::named,
    notes::{Notes, shown},
    syntax::Named,
    table::{
        Fields, Key, Kind,
        Standing::{self, Optional, Required},
        Table,
    },
};
use crate::{
    node::{Kind as NodeKind, Node},
    source::Span,
};

const fn key(name: &'static str, kind: Kind, standing: Standing, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        standing,
        doc,
    }
}

/// The types, each with the table of its `config`.
pub(super) static TYPES: &[(&str, &Table)] = &[
    ("transform_node", &TRANSFORM),
    ("state_processor_node", &PROCESSOR),
    ("generate_documents_tree", &TREE),
    ("summarize_conversation_node", &SUMMARY),
    ("result_finalizer_node", &FINALIZER),
];

/// Types of the original format that are not supported.
const UNSUPPORTED: [&str; 2] = ["bedrock_flow_node", "supervisor_node"];

static TRANSFORM: Table = Table {
    name: "the `config` of a `transform_node`",
    key: "transform_config",
    keys: &[
        key(
            "input_source",
            Kind::Word(&[
                "context_store",
                "user_input",
                "messages",
                "combined",
                "state_schema",
            ]),
            Optional,
            "Where the values come from. Default: `context_store`.",
        ),
        key(
            "input_key",
            Kind::Text,
            Optional,
            "The part of the source that is taken: `a`, `a.b`, `a[0]`, `a[0:2]`.",
        ),
        key(
            "mappings",
            Kind::List(&MAPPING),
            Required,
            "The fields of the output, in order.",
        ),
        key(
            "output_schema",
            Kind::Schema,
            Optional,
            "The JSON Schema that the output is converted to and must match.",
        ),
        key(
            "on_error",
            Kind::Word(&["fail", "skip", "default", "partial"]),
            Optional,
            "What happens after an error. Default: `fail`.",
        ),
        key(
            "default_output",
            Kind::Map,
            Optional,
            "The output if `on_error` is `default`.",
        ),
    ],
};

static MAPPING: Table = Table {
    name: "a mapping",
    key: "mapping",
    keys: &[
        key(
            "output_field",
            Kind::Text,
            Required,
            "The field that is made.",
        ),
        key(
            "type",
            Kind::Word(&[
                "extract",
                "constant",
                "condition",
                "script",
                "template",
                "array_map",
            ]),
            Optional,
            "How the field is made. Default: `extract`.",
        ),
        key(
            "source_path",
            Kind::Text,
            Optional,
            "The path of the value, with dots and indexes.",
        ),
        key(
            "default",
            Kind::Any,
            Optional,
            "The value if nothing is found.",
        ),
        key("value", Kind::Any, Optional, "The value of a constant."),
        key(
            "condition",
            Kind::Text,
            Optional,
            "The condition that decides between two values.",
        ),
        key(
            "then_value",
            Kind::Any,
            Optional,
            "The value if the condition holds.",
        ),
        key(
            "else_value",
            Kind::Any,
            Optional,
            "The value if the condition does not hold.",
        ),
        key(
            "script",
            Kind::Text,
            Optional,
            "The expression that is the value.",
        ),
        key(
            "template",
            Kind::Text,
            Optional,
            "The template that is the value.",
        ),
        key(
            "item_field",
            Kind::Text,
            Optional,
            "The field that is taken from each item.",
        ),
        key(
            "filter_condition",
            Kind::Text,
            Optional,
            "The condition that `item` must meet.",
        ),
    ],
};

static PROCESSOR: Table = Table {
    name: "the `config` of a `state_processor_node`",
    key: "processor_config",
    keys: &[
        key(
            "state_id",
            Kind::Text,
            Required,
            "The beginning of the ids of the states whose records are used.",
        ),
        key(
            "workflow_execution_id",
            Kind::Text,
            Optional,
            "Another run, whose records are used.",
        ),
        key(
            "states_status_filter",
            Kind::Texts,
            Optional,
            "The required outcome of a state. Default: `succeeded`.",
        ),
        key(
            "output_template",
            Kind::Text,
            Optional,
            "The output, a template over `items`.",
        ),
    ],
};

static TREE: Table = Table {
    name: "the `config` of a `generate_documents_tree`",
    key: "tree_config",
    keys: &[
        key(
            "datasource_id",
            Kind::Text,
            Optional,
            "The datasource of the configuration whose folder is listed.",
        ),
        key("datasource_ids", Kind::Texts, Optional, "Several of them."),
        key(
            "documents_filter",
            Kind::Lines,
            Optional,
            "Patterns as in a gitignore file, or paths: a list, or a text with one on each line.",
        ),
        key(
            "documents_filtering_pattern",
            Kind::Text,
            Optional,
            "A regular expression, or else a glob.",
        ),
        key(
            "output_key",
            Kind::Text,
            Optional,
            "The key of the list. Default: `documents_tree`.",
        ),
        key(
            "include_content",
            Kind::Flag,
            Optional,
            "Whether the texts are in the list.",
        ),
        key(
            "include_metadata",
            Kind::Flag,
            Optional,
            "Whether sizes and times are in the list.",
        ),
        key(
            "max_depth",
            Kind::Integer(0, u64::MAX),
            Optional,
            "Maximum depth of folders.",
        ),
    ],
};

static SUMMARY: Table = Table {
    name: "the `config` of a `summarize_conversation_node`",
    key: "summary_config",
    keys: &[],
};

static FINALIZER: Table = Table {
    name: "the `config` of a `result_finalizer_node`",
    key: "finalizer_config",
    keys: &[],
};

/// Returns the type of that name.
pub(super) fn canonical(name: &str) -> Option<(&'static str, &'static Table)> {
    let whole = |known: &str| known == name || known.strip_suffix("_node") == Some(name);
    TYPES.iter().find(|(known, _)| whole(known)).copied()
}

/// Checks the type of a custom node and its `config`.
pub(super) fn check(
    id: &Named,
    kind: &Named,
    config: Option<&Node>,
    span: Span,
    notes: &mut Notes<'_>,
) {
    let name = kind.text.as_str();
    if UNSUPPORTED.contains(&name) {
        notes
            .report
            .error(
                kind.span,
                "unsupported",
                format!("a custom node of the type `{name}` is not carried out here"),
            )
            .help("use an assistant, or another type");
        return;
    }
    let Some((known, table)) = canonical(name) else {
        unknown(kind, notes);
        return;
    };
    if known != name {
        notes
            .report
            .warning(
                kind.span,
                "short_name",
                format!("`{name}` is taken for `{known}`"),
            )
            .help(format!("write `{known}`"));
    }
    let empty = Node {
        span,
        kind: NodeKind::Map(Vec::new()),
    };
    let what = format!("the `config` of `{}`", shown(&id.text));
    let Some(fields) = table.read(&what, config.unwrap_or(&empty), notes) else {
        return;
    };
    match known {
        "transform_node" => transform(&fields, notes),
        "generate_documents_tree" => tree(&what, &fields, notes),
        "state_processor_node" => {
            if let Some(text) = named(&fields, "output_template") {
                notes.template(&text);
            }
        }
        _ => {}
    }
}

fn unknown(kind: &Named, notes: &mut Notes<'_>) {
    let names = TYPES.iter().map(|(known, _)| *known);
    let near = nearest(&kind.text, names.clone());
    let guess = near
        .map(|near| format!(": did you mean `{near}`?"))
        .unwrap_or_default();
    let known: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    notes
        .report
        .error(
            kind.span,
            "undefined_node_type",
            format!(
                "there is no type `{}` of custom nodes{guess}",
                shown(&kind.text)
            ),
        )
        .help(format!("known are {}", known.join(", ")));
}

/// Required keys of each type of mapping.
const NEEDS: &[(&str, &[&str])] = &[
    ("extract", &["source_path"]),
    ("constant", &["value"]),
    ("condition", &["condition", "then_value"]),
    ("script", &["script"]),
    ("template", &["template"]),
    ("array_map", &["source_path"]),
];

fn transform(fields: &Fields<'_>, notes: &mut Notes<'_>) {
    let items = fields.get("mappings").map(Node::items).unwrap_or_default();
    for (number, item) in items.iter().enumerate() {
        let what = match item
            .get("output_field")
            .and_then(|entry| entry.value.text())
        {
            Some(field) => format!("the mapping of `{}`", shown(field)),
            None => format!("mapping {}", number + 1),
        };
        let Some(mapping) = MAPPING.read(&what, item, notes) else {
            continue;
        };
        if mapping.has("type") && mapping.text("type").is_none() {
            continue;
        }
        if let Some(text) = named(&mapping, "template") {
            notes.template(&text);
        }
        for name in ["condition", "script", "filter_condition"] {
            if let Some(text) = named(&mapping, name) {
                notes.expression(&text);
            }
        }
        let kind = mapping.text("type").unwrap_or("extract");
        let needs = NEEDS.iter().find(|(known, _)| *known == kind);
        for need in needs.map(|(_, needs)| *needs).unwrap_or_default() {
            if item.get(need).is_none() {
                let doc = format!("a mapping of the type `{kind}` needs it");
                notes.missing(&what, need, &doc, item.span);
            }
        }
    }
    let is_default = fields.text("on_error") == Some("default");
    if is_default && !fields.has("default_output") {
        let doc = "the output after an error";
        notes.missing(
            "a `config` with `on_error: default`",
            "default_output",
            doc,
            fields.node.span,
        );
    }
}

fn tree(what: &str, fields: &Fields<'_>, notes: &mut Notes<'_>) {
    if !fields.has("datasource_id") && !fields.has("datasource_ids") {
        let doc = "the datasource whose folder is listed";
        notes.missing(what, "datasource_id", doc, fields.node.span);
    }
    let (lines, pattern) = ("documents_filter", "documents_filtering_pattern");
    if let (true, Some(span)) = (fields.has(lines), fields.key_span(pattern)) {
        notes
            .report
            .error(
                span,
                "wrong_pair",
                format!("`{lines}` and `{pattern}` stand together in {what}"),
            )
            .help("keep one of the two");
    }
}
