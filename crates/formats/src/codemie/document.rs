//! The top level of a file: assistants, tools, servers, custom nodes.

use serde_json::{Map, Value};

use super::{
    keys::{ASSISTANT, NODE, PACKAGE, RETRY, SERVER, START, TOOL, TOOL_NAME, WORKFLOW},
    notes::{Notes, shown},
    state,
    syntax::{
        Arguments, Assistant, CustomNode, Limits, Named, Retry, Server, Start, Tool, ToolName,
        Workflow,
    },
    table::Fields,
};
use crate::{fit::truth, node::Node, parse::typed_value, source::Span};

/// Parses a whole file; returns `None` if nothing in it can be used.
pub(super) fn read(tree: &Node, notes: &mut Notes<'_>) -> Option<Workflow> {
    let Some(inner) = tree.get("execution_config") else {
        return workflow(tree, notes);
    };
    if let Some(states) = tree.get("states") {
        notes
            .report
            .error(
                states.key_span,
                "two_workflows",
                "`states` and `execution_config` are both given",
            )
            .help("a package has its states below `execution_config`");
        return None;
    }
    let fields = PACKAGE.read("the package", tree, notes)?;
    let mut workflow = workflow(&inner.value, notes)?;
    workflow.name = fields.string("name");
    workflow.description = fields.string("description");
    Some(workflow)
}

/// Returns whether the file requests strictness; checked before anything is parsed.
pub(super) fn is_strict(tree: &Node) -> bool {
    let inner = tree
        .get("execution_config")
        .map_or(tree, |entry| &entry.value);
    let strict = inner.get("strict").and_then(|entry| entry.value.text());
    strict.and_then(truth) == Some(true)
}

fn workflow(node: &Node, notes: &mut Notes<'_>) -> Option<Workflow> {
    let fields = WORKFLOW.read("the workflow", node, notes)?;
    let number = |name: &str, default| fields.integer(name).unwrap_or(default);
    let written = fields.get("states").map(Node::items).unwrap_or_default();
    if written.is_empty() && fields.get("states").is_some() {
        let span = fields.get("states").map_or(node.span, |node| node.span);
        notes
            .report
            .error(span, "empty_states", "there is no state")
            .help("add one: `- id: …`, with `assistant_id`, `task` and `next`");
    }
    let states: Vec<_> = written
        .iter()
        .filter_map(|node| state::read(node, notes))
        .collect();
    let mut incomplete: Vec<&'static str> = Vec::new();
    let assistants = each(&fields, "assistants", notes, assistant);
    let tools = each(&fields, "tools", notes, tool);
    let nodes = each(&fields, "custom_nodes", notes, custom_node);
    for (name, read) in [
        ("states", states.len()),
        ("assistants", assistants.len()),
        ("tools", tools.len()),
        ("custom_nodes", nodes.len()),
    ] {
        let items = fields.get(name).map(Node::items).unwrap_or_default();
        if read < items.len() || fields.get(name).is_none() && fields.has(name) {
            incomplete.push(name);
        }
    }
    Some(Workflow {
        name: None,
        description: None,
        incomplete,
        states,
        assistants,
        tools,
        nodes,
        limits: Limits {
            recursion: number("recursion_limit", 50),
            at_once: number("max_concurrency", 10),
            messages: number("messages_limit_before_summarization", 25),
            tokens: number("tokens_limit_before_summarization", 50_000),
            summary: fields.flag("enable_summarization_node"),
            schema_retries: number("max_schema_retries", 3),
        },
        retry: retry(&fields, "the `retry_policy` of the workflow", notes),
    })
}

/// Parses every item of a list.
fn each<T>(
    fields: &Fields<'_>,
    name: &str,
    notes: &mut Notes<'_>,
    read: impl Fn(&Node, &mut Notes<'_>) -> Option<T>,
) -> Vec<T> {
    let items = fields.get(name).map(Node::items).unwrap_or_default();
    items.iter().filter_map(|item| read(item, notes)).collect()
}

/// Returns the text of a key with its position.
pub(super) fn named(fields: &Fields<'_>, name: &str) -> Option<Named> {
    let node = fields.get(name)?;
    Some(Named {
        text: node.text()?.to_owned(),
        span: node.span,
    })
}

pub(super) fn names(fields: &Fields<'_>, name: &str) -> Vec<Named> {
    let texts = fields.texts(name).into_iter();
    texts
        .map(|(text, span)| Named {
            text: text.to_owned(),
            span,
        })
        .collect()
}

/// Returns the name of an object with an id, for messages.
pub(super) fn called(kind: &str, node: &Node) -> String {
    let id = node.get("id").or_else(|| node.get("name"));
    match id.and_then(|entry| entry.value.text()) {
        Some(id) => format!("the {kind} `{}`", shown(id)),
        None if kind.starts_with(['a', 'M']) => format!("an {kind}"),
        None => format!("a {kind}"),
    }
}

pub(super) fn retry(fields: &Fields<'_>, what: &str, notes: &mut Notes<'_>) -> Retry {
    let node = fields.get("retry_policy");
    let Some(fields) = node.and_then(|node| RETRY.read(what, node, notes)) else {
        return Retry::default();
    };
    Retry {
        initial_interval: fields.decimal("initial_interval"),
        max_interval: fields.decimal("max_interval"),
        backoff_factor: fields.decimal("backoff_factor"),
        max_attempts: fields.integer("max_attempts"),
        jitter: fields.flag("jitter"),
    }
}

fn assistant(node: &Node, notes: &mut Notes<'_>) -> Option<Assistant> {
    let what = called("assistant", node);
    let fields = ASSISTANT.read(&what, node, notes)?;
    if !fields.has("system_prompt") && !fields.has("assistant_id") {
        notes
            .report
            .error(
                start_of(node.span),
                "missing_key",
                format!("neither `system_prompt` nor `assistant_id` is in {what}"),
            )
            .help("add `system_prompt`, or `assistant_id` with an assistant of the configuration");
    }
    let base = named(&fields, "assistant_id");
    Some(Assistant {
        id: named(&fields, "id")?,
        base,
        system_prompt: named(&fields, "system_prompt"),
        model: named(&fields, "model"),
        temperature: fields.decimal("temperature"),
        tools: each(&fields, "tools", notes, tool_name),
        servers: each(&fields, "mcp_servers", notes, server),
        datasources: names(&fields, "datasource_ids"),
        skills: names(&fields, "skill_ids"),
        skill_texts: Vec::new(),
        output_tokens: fields.integer("limit_tool_output_tokens").unwrap_or(10_000),
        no_extra_tools: fields
            .flag("exclude_extra_context_tools")
            .unwrap_or_default(),
        turns: fields.integer("max_turns").unwrap_or(75),
    })
}

fn tool_name(node: &Node, notes: &mut Notes<'_>) -> Option<ToolName> {
    let fields = TOOL_NAME.read(&called("tool", node), node, notes)?;
    Some(ToolName {
        name: named(&fields, "name")?,
        alias: named(&fields, "integration_alias"),
    })
}

fn tool(node: &Node, notes: &mut Notes<'_>) -> Option<Tool> {
    let fields = TOOL.read(&called("tool", node), node, notes)?;
    Some(Tool {
        id: named(&fields, "id")?,
        tool: named(&fields, "tool")?,
        arguments: arguments(&fields),
        input_key: fields.string("input_key"),
        pointer: named(&fields, "tool_result_json_pointer"),
        fills_response: fields
            .flag("resolve_dynamic_values_in_response")
            .unwrap_or_default(),
        alias: named(&fields, "integration_alias"),
        tokens: fields.integer("tokens_size_limit"),
        server: fields
            .get("mcp_server")
            .and_then(|node| server(node, notes)),
    })
}

/// Returns `tool_args` with the types of YAML's core schema.
pub(super) fn arguments(fields: &Fields<'_>) -> Option<Arguments> {
    let node = fields.get("tool_args")?;
    let mut texts = Vec::new();
    texts_in(node, &mut texts);
    let values = match typed_value(node) {
        Value::Object(values) => values,
        _ => Map::new(),
    };
    Some(Arguments { values, texts })
}

/// Collects every text at any depth.
pub(super) fn texts_in(node: &Node, into: &mut Vec<Named>) {
    if let Some(text) = node.text() {
        into.push(Named {
            text: text.to_owned(),
            span: node.span,
        });
    }
    for item in node.items() {
        texts_in(item, into);
    }
    for entry in node.entries() {
        texts_in(&entry.value, into);
    }
}

fn server(node: &Node, notes: &mut Notes<'_>) -> Option<Server> {
    let what = called("MCP server", node);
    let fields = SERVER.read(&what, node, notes)?;
    let inner = fields.get("config");
    let inner = inner.and_then(|node| START.read("the `config`", node, notes));
    let enabled = fields.flag("enabled").unwrap_or(true);
    Some(Server {
        name: named(&fields, "name")?,
        enabled,
        start: start(&what, &fields, inner.as_ref(), enabled, notes),
        single_usage: inner
            .as_ref()
            .and_then(|inner| inner.flag("single_usage"))
            .unwrap_or_default(),
        tools: fields.has("tools").then(|| names(&fields, "tools")),
        tokens: fields.integer("tools_tokens_size_limit"),
        alias: named(&fields, "integration_alias"),
    })
}

fn start(
    what: &str,
    fields: &Fields<'_>,
    inner: Option<&Fields<'_>>,
    enabled: bool,
    notes: &mut Notes<'_>,
) -> Option<Start> {
    let ways = ["config", "command", "mcp_config_id"];
    let mut written = ways.into_iter().filter(|way| fields.has(way));
    let (first, second) = (written.next(), written.next());
    if let (Some(first), Some(second)) = (first, second) {
        let span = fields.key_span(second).unwrap_or(fields.node.span);
        notes
            .report
            .error(
                span,
                "server_start",
                format!("`{first}` and `{second}` both say how {what} is started"),
            )
            .help("keep one of the two");
        return None;
    }
    if let Some(inner) = inner {
        return configured(inner, notes);
    }
    if let Some(id) = named(fields, "mcp_config_id") {
        return Some(Start::Configured(id));
    }
    if let Some(command) = named(fields, "command") {
        return Some(Start::Program {
            command,
            arguments: names(fields, "arguments"),
            env: Vec::new(),
        });
    }
    if first.is_none() && enabled {
        notes
            .report
            .error(
                start_of(fields.node.span),
                "server_start",
                format!("nothing says how {what} is started or reached"),
            )
            .help("add `config` with `command` or `url`, `command`, or `mcp_config_id`; or `enabled: false`");
    }
    None
}

fn configured(inner: &Fields<'_>, notes: &mut Notes<'_>) -> Option<Start> {
    let pairs = |name: &str| -> Vec<(String, Named)> {
        let entries = inner.get(name).map(Node::entries).unwrap_or_default();
        let pair = |entry: &crate::node::Entry| {
            let text = entry.value.text().unwrap_or_default().to_owned();
            let span = entry.value.span;
            (entry.key.clone(), Named { text, span })
        };
        entries.iter().map(pair).collect()
    };
    match (named(inner, "command"), named(inner, "url")) {
        (Some(command), None) => Some(Start::Program {
            command,
            arguments: names(inner, "args"),
            env: pairs("env"),
        }),
        (None, Some(url)) => Some(Start::Address {
            url,
            headers: pairs("headers"),
            token: named(inner, "auth_token"),
            streams: inner.has("type"),
        }),
        (Some(_), Some(url)) => {
            notes
                .report
                .error(
                    url.span,
                    "server_start",
                    "`command` and `url` stand in one `config`",
                )
                .help("keep one of the two");
            None
        }
        (None, None) => {
            if !inner.has("command") && !inner.has("url") {
                notes
                    .report
                    .error(
                        start_of(inner.node.span),
                        "server_start",
                        "the `config` has neither `command` nor `url`",
                    )
                    .help("add one of the two");
            }
            None
        }
    }
}

fn custom_node(node: &Node, notes: &mut Notes<'_>) -> Option<CustomNode> {
    let fields = NODE.read(&called("custom node", node), node, notes)?;
    let id = named(&fields, "id")?;
    let kind = named(&fields, "custom_node_id").unwrap_or_else(|| id.clone());
    let config = fields.get("config");
    super::nodes::check(&id, &kind, config, node.span, notes);
    Some(CustomNode {
        id,
        kind,
        model: named(&fields, "model"),
        system_prompt: named(&fields, "system_prompt"),
        datasources: config.map(datasources).unwrap_or_default(),
        config: config.map(typed_value),
    })
}

/// Returns the datasources that a node names.
fn datasources(config: &Node) -> Vec<Named> {
    let one = config.get("datasource_id").map(|entry| &entry.value);
    let several = config.get("datasource_ids");
    let several = several.iter().flat_map(|entry| entry.value.items());
    one.into_iter()
        .chain(several)
        .filter_map(|node| {
            let text = node.text()?.to_owned();
            let span = node.span;
            Some(Named { text, span })
        })
        .collect()
}

/// Returns the position where a map begins.
pub(super) const fn start_of(span: Span) -> Span {
    Span {
        end: span.start + 1,
        ..span
    }
}
