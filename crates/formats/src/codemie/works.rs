//! Converts tool states and custom nodes to the structs of core.
//!
//! The input was checked before; what is still missing is left out, never guessed.

use interlock_core::{
    dialogue::Conversation,
    machine::{AgentWork, Object, ServerStart, ServerWork},
};
use interlock_expr::{expression, template::Template};
use interlock_nodes::{
    FieldRule, Mapping, OnError, RecordsNode, ToolWork, TransformNode, TransformSource, TreeNode,
};
use serde_json::Value;

use super::{
    syntax::{Arguments, Assistant, CustomNode, Named, Server, Start, Tool},
    tools::builtin,
};

/// Creates the work of a state that runs a tool; `over` has the state's own arguments.
pub(super) fn tool(tool: &Tool, over: Option<&Arguments>, strict: bool) -> ToolWork {
    let own = tool.arguments.as_ref();
    let written = own.is_some() || over.is_some();
    let mut arguments = Object::new();
    for part in own.into_iter().chain(over) {
        arguments.extend(part.values.clone());
    }
    ToolWork {
        tool: tool.tool.text.clone(),
        // `{}` is not an argument.
        arguments: (written && !arguments.is_empty()).then_some(arguments),
        input_key: tool.input_key.clone(),
        pointer: text_of(tool.pointer.as_ref()),
        fills_response: tool.fills_response,
        tokens_max: tool.tokens,
        integration: text_of(tool.alias.as_ref()),
        server: tool.server.as_ref().and_then(server),
        strict,
    }
}

/// Returns what an assistant's model has besides its prompt; `None` if nothing.
pub(super) fn agent(assistant: &Assistant) -> Option<AgentWork> {
    let tools = &assistant.tools;
    let own = |name: &str| {
        let mut named = assistant.servers.iter().flat_map(|server| &server.tools);
        named.any(|tools| tools.iter().any(|tool| tool.text == name))
    };
    let configured = tools
        .iter()
        .map(|tool| &tool.name.text)
        .filter(|name| builtin(name).is_none() && !own(name));
    let texts = |all: &[Named]| all.iter().map(|one| one.text.clone()).collect();
    let work = AgentWork {
        servers: assistant.servers.iter().filter_map(server).collect(),
        datasources: texts(&assistant.datasources),
        configured: configured.cloned().collect(),
        integrations: tools
            .iter()
            .filter_map(|tool| Some((tool.name.text.clone(), text_of(tool.alias.as_ref())?)))
            .collect(),
    };
    (work != AgentWork::default()).then_some(work)
}

/// Converts a server; returns `None` if it is disabled, or if nothing says how it starts.
pub(super) fn server(server: &Server) -> Option<ServerWork> {
    let template = |text: &Named| Template::new(text.text.clone());
    let pairs = |pairs: &[(String, Named)]| -> Vec<(String, Template)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, text)| (name.clone(), template(text)))
            .collect()
    };
    let start = match server.start.as_ref().filter(|_| server.enabled)? {
        Start::Program {
            command,
            arguments,
            env,
        } => ServerStart::Program {
            command: template(command),
            arguments: arguments.iter().map(template).collect(),
            env: pairs(env),
        },
        Start::Address {
            url,
            headers,
            token,
            streams,
        } => ServerStart::Address {
            url: template(url),
            headers: pairs(headers),
            token: token.as_ref().map(template),
            streams: *streams,
        },
        Start::Configured(id) => ServerStart::Configured(id.text.clone()),
    };
    let tools = server.tools.as_ref();
    Some(ServerWork {
        name: server.name.text.clone(),
        start,
        single_usage: server.single_usage,
        tools: tools.map(|tools| tools.iter().map(|tool| tool.text.clone()).collect()),
        tokens_max: server.tokens,
        integration: text_of(server.alias.as_ref()),
    })
}

/// Creates the work of a `transform_node`; returns `None` if an expression cannot be parsed, which is reported.
pub(super) fn transform(config: &Value, strict: bool) -> Option<TransformNode> {
    let items = config.get("mappings").and_then(Value::as_array);
    let mappings = items.into_iter().flatten().map(mapping);
    Some(TransformNode {
        source: match text(config, "input_source").as_deref() {
            Some("user_input") => TransformSource::UserInput,
            Some("messages") => TransformSource::Messages,
            Some("combined") => TransformSource::Combined,
            Some("state_schema") => TransformSource::StateSchema,
            _ => TransformSource::ContextStore,
        },
        input_key: text(config, "input_key"),
        mappings: mappings.collect::<Option<_>>()?,
        output_schema: value(config, "output_schema").map(schema),
        on_error: match text(config, "on_error").as_deref() {
            Some("skip") => OnError::Skip,
            Some("default") => OnError::Default,
            Some("partial") => OnError::Partial,
            _ => OnError::Fail,
        },
        default_output: match value(config, "default_output") {
            Some(Value::Object(fields)) => fields.clone(),
            _ => Object::new(),
        },
        strict,
    })
}

fn mapping(mapping: &Value) -> Option<Mapping> {
    let path = || text(mapping, "source_path").unwrap_or_default();
    let given = |name: &str| value(mapping, name).cloned().unwrap_or_default();
    let expression = |name: &str| expression::parse(&text(mapping, name).unwrap_or_default()).ok();
    let kind = text(mapping, "type");
    let rule = match kind.as_deref().unwrap_or("extract") {
        "constant" => FieldRule::Constant(given("value")),
        "condition" => FieldRule::Condition {
            condition: expression("condition")?,
            then: given("then_value"),
            otherwise: given("else_value"),
        },
        "script" => FieldRule::Script(expression("script")?),
        "template" => {
            FieldRule::Template(Template::new(text(mapping, "template").unwrap_or_default()))
        }
        "array_map" => FieldRule::ArrayMap {
            path: path(),
            item_field: text(mapping, "item_field"),
            filter: match text(mapping, "filter_condition") {
                Some(_) => Some(expression("filter_condition")?),
                None => None,
            },
        },
        _ => FieldRule::Extract {
            path: path(),
            default: given("default"),
        },
    };
    Some(Mapping {
        field: text(mapping, "output_field")?,
        rule,
    })
}

/// Creates the work of a `generate_documents_tree`.
pub(super) fn tree(config: &Value) -> TreeNode {
    let flag = |name: &str| match value(config, name) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(word)) => crate::fit::truth(word).unwrap_or_default(),
        _ => false,
    };
    let mut datasources: Vec<String> = text(config, "datasource_id").into_iter().collect();
    for id in texts(config, "datasource_ids") {
        if !datasources.contains(&id) {
            datasources.push(id);
        }
    }
    TreeNode {
        datasources,
        filter: lines(config, "documents_filter"),
        pattern: text(config, "documents_filtering_pattern"),
        output_key: text(config, "output_key").unwrap_or_else(|| "documents_tree".to_owned()),
        content: flag("include_content"),
        metadata: flag("include_metadata"),
        depth_max: text(config, "max_depth").and_then(|depth| depth.parse().ok()),
    }
}

/// Creates the work of a `state_processor_node`; `task` is that of the state.
pub(super) fn records(node: &CustomNode, task: Option<&Named>, strict: bool) -> RecordsNode {
    let empty = Value::Null;
    let config = node.config.as_ref().unwrap_or(&empty);
    let mut statuses = texts(config, "states_status_filter");
    for status in &mut statuses {
        *status = status.to_lowercase();
    }
    if statuses.is_empty() {
        statuses.push("succeeded".to_owned());
    }
    let template = |text: &Named| Template::new(text.text.clone());
    RecordsNode {
        state: text(config, "state_id").unwrap_or_default(),
        run: text(config, "workflow_execution_id").map(Template::new),
        statuses,
        task: task
            .filter(|task| !task.text.trim().is_empty())
            .map(template),
        model: text_of(node.model.as_ref()),
        system_prompt: node.system_prompt.as_ref().map(template),
        output: text(config, "output_template").map(Template::new),
        strict,
    }
}

fn value<'v>(config: &'v Value, name: &str) -> Option<&'v Value> {
    config.get(name).filter(|value| !value.is_null())
}

/// Returns a text; a number or a boolean as written.
fn text(config: &Value, name: &str) -> Option<String> {
    value(config, name).map(Conversation::text_of)
}

/// Returns the texts of a list, or the lines of a text.
fn lines(config: &Value, name: &str) -> Vec<String> {
    match value(config, name) {
        Some(Value::String(text)) => text.lines().map(str::to_owned).collect(),
        _ => texts(config, name),
    }
}

fn texts(config: &Value, name: &str) -> Vec<String> {
    let items = value(config, name).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .map(Conversation::text_of)
        .collect()
}

/// Returns a schema; JSON as text is parsed.
fn schema(value: &Value) -> Value {
    let read = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_else(|| value.clone())
}

fn text_of(named: Option<&Named>) -> Option<String> {
    named.map(|named| named.text.clone())
}

#[cfg(test)]
mod tests;
