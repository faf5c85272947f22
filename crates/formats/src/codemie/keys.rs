//! Every key of the format.

use super::table::{
    Key, Kind,
    Standing::{self, Idle, Optional, Required},
    Table,
};

const fn key(name: &'static str, kind: Kind, standing: Standing, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        standing,
        doc,
    }
}

const MAX: u64 = u64::MAX;

/// Every table, in the order in which a misplaced key is searched.
pub(super) static TABLES: &[&Table] = &[
    &STATE, &NEXT, &WORKFLOW, &ASSISTANT, &TOOL, &NODE, &SERVER, &START, &RETRY, &POLICY, &SWITCH,
    &CASE, &CONDITION, &TOOL_NAME, &PACKAGE,
];

/// Keys that never had an effect, at any level, with the right name if there is one.
pub(super) const DEAD: &[(&str, Option<&str>)] = &[
    ("toolset", None),
    ("use_flyweight_history", None),
    ("store_iter_task_in_history", None),
    ("initial_interval_seconds", Some("initial_interval")),
    ("max_interval_seconds", Some("max_interval")),
    ("orphaned_states", None),
    ("_meta", None),
    ("meta_iter_state_id", None),
    ("meta_next_state_id", None),
];

/// Keys that other files have in a map of this name and that do nothing here, with advice.
pub(super) const FOREIGN: &[(&str, &str, &str)] = &[
    (
        "workflow",
        "limit_tool_output_tokens",
        "write it at each assistant, whose results it cuts",
    ),
    (
        "state",
        "output_format",
        "leave it out: an output is text, and JSON where the state has an `output_schema`",
    ),
];

/// Key with which a model controls the workflow.
pub(super) const SUPERVISED: &str = "supervisor_prompt";

/// Keys that are accepted at any level, and have no effect.
pub(super) const SILENT: &[&str] = &["type", "verbose", "trace", "max_iteration_key_output_limit"];

/// A package around a workflow.
pub(super) static PACKAGE: Table = Table {
    name: "the package",
    key: "package",
    keys: &[
        key(
            "execution_config",
            Kind::One(&WORKFLOW),
            Required,
            "The workflow itself.",
        ),
        key("name", Kind::Text, Optional, "The name of the workflow."),
        key(
            "description",
            Kind::Text,
            Optional,
            "A description, shown in lists.",
        ),
        key("slug", Kind::Text, Optional, "Only shown."),
        key("mode", Kind::Text, Optional, "Ignored."),
        key("start_hint", Kind::Text, Optional, "Only shown."),
        key("icon_url", Kind::Text, Optional, "Ignored."),
        key("video_link", Kind::Text, Optional, "Ignored."),
    ],
};

/// The workflow.
pub(super) static WORKFLOW: Table = Table {
    name: "the workflow",
    key: "workflow",
    keys: &[
        key(
            "states",
            Kind::List(&STATE),
            Required,
            "Every state; the first is the entry.",
        ),
        key(
            "assistants",
            Kind::List(&ASSISTANT),
            Optional,
            "The assistants of agent states.",
        ),
        key(
            "tools",
            Kind::List(&TOOL),
            Optional,
            "The tools of tool states.",
        ),
        key(
            "custom_nodes",
            Kind::List(&NODE),
            Optional,
            "The nodes of custom node states.",
        ),
        key(
            "recursion_limit",
            Kind::Integer(1, 5_000),
            Optional,
            "Maximum states entered by one branch. Default: 50.",
        ),
        key(
            "max_concurrency",
            Kind::Integer(1, 100),
            Optional,
            "Maximum states that are active at the same time in the whole run. Default: 10.",
        ),
        key(
            "messages_limit_before_summarization",
            Kind::Integer(1, 10_000),
            Optional,
            "Messages of a history after which it is condensed. Default: 25.",
        ),
        key(
            "tokens_limit_before_summarization",
            Kind::Integer(1, 2_147_483_647),
            Optional,
            "Tokens of a history after which it is condensed. Default: 50000.",
        ),
        key(
            "enable_summarization_node",
            Kind::Flag,
            Optional,
            "True: the history is condensed and the run ends with a summary. False: neither. Default: only condensed.",
        ),
        key(
            "retry_policy",
            Kind::One(&RETRY),
            Optional,
            "How failures are retried.",
        ),
        key(
            "strict",
            Kind::Flag,
            Optional,
            "Whether anything ambiguous is an error.",
        ),
        key(
            "max_schema_retries",
            Kind::Integer(0, 10),
            Optional,
            "How often an answer that does not match its schema is retried. Default: 3.",
        ),
    ],
};

/// An assistant.
pub(super) static ASSISTANT: Table = Table {
    name: "an assistant",
    key: "assistant",
    keys: &[
        key(
            "id",
            Kind::Text,
            Required,
            "The name by which states refer to it.",
        ),
        key(
            "assistant_id",
            Kind::Text,
            Optional,
            "An assistant of the configuration; keys given here override its own.",
        ),
        key(
            "system_prompt",
            Kind::Text,
            Optional,
            "The system prompt, a template.",
        ),
        key(
            "name",
            Kind::Text,
            Optional,
            "The name shown. Default: the id.",
        ),
        key(
            "model",
            Kind::Text,
            Optional,
            "The model, by an alias of the configuration, as `provider/name` or by its name.",
        ),
        key(
            "temperature",
            Kind::Decimal(0, 2),
            Optional,
            "The sampling temperature. Default: that of the provider.",
        ),
        key(
            "tools",
            Kind::List(&TOOL_NAME),
            Optional,
            "The tools it may call.",
        ),
        key(
            "mcp_servers",
            Kind::List(&SERVER),
            Optional,
            "MCP servers whose tools it may call.",
        ),
        key(
            "datasource_ids",
            Kind::Texts,
            Optional,
            "Datasources of the configuration that it may search.",
        ),
        key(
            "skill_ids",
            Kind::Texts,
            Optional,
            "Texts of the configuration that join its prompt.",
        ),
        key(
            "limit_tool_output_tokens",
            Kind::Integer(1, MAX),
            Optional,
            "Maximum tokens of each tool result. Default: 10000.",
        ),
        key(
            "exclude_extra_context_tools",
            Kind::Flag,
            Optional,
            "Whether it gets no automatic tools for its datasources.",
        ),
        key(
            "max_turns",
            Kind::Integer(1, 1_000),
            Optional,
            "Maximum answers of the model in one state. Default: 75.",
        ),
    ],
};

/// A tool that an assistant names.
pub(super) static TOOL_NAME: Table = Table {
    name: "a tool of an assistant",
    key: "tool_name",
    keys: &[
        key(
            "name",
            Kind::Text,
            Required,
            "The tool: a built-in, or one of an MCP server.",
        ),
        key(
            "integration_alias",
            Kind::Text,
            Optional,
            "The integration of the configuration whose values it gets.",
        ),
        key(
            "resolve_dynamic_values_in_arguments",
            Kind::Any,
            Idle,
            "No effect here.",
        ),
        key("use_custom_config", Kind::Any, Idle, "No effect here."),
        key("settings", Kind::Any, Idle, "No effect here."),
    ],
};

/// A tool that states call.
pub(super) static TOOL: Table = Table {
    name: "a tool",
    key: "tool",
    keys: &[
        key(
            "id",
            Kind::Text,
            Required,
            "The name by which states refer to it.",
        ),
        key(
            "tool",
            Kind::Text,
            Required,
            "The tool: a built-in, or one of an MCP server.",
        ),
        key(
            "tool_args",
            Kind::Map,
            Optional,
            "Its arguments; texts are templates.",
        ),
        key(
            "input_key",
            Kind::Text,
            Optional,
            "The context key whose object the arguments are resolved against.",
        ),
        key(
            "tool_result_json_pointer",
            Kind::Text,
            Optional,
            "The part of the result that is the output.",
        ),
        key(
            "resolve_dynamic_values_in_response",
            Kind::Flag,
            Optional,
            "Whether the result is a template.",
        ),
        key(
            "integration_alias",
            Kind::Text,
            Optional,
            "The integration of the configuration whose values it gets.",
        ),
        key(
            "tokens_size_limit",
            Kind::Integer(1, MAX),
            Optional,
            "Maximum tokens of its result.",
        ),
        key(
            "mcp_server",
            Kind::One(&SERVER),
            Optional,
            "The MCP server that has the tool.",
        ),
        key(
            "resolve_dynamic_values_in_arguments",
            Kind::Any,
            Idle,
            "No effect here.",
        ),
        key("use_custom_config", Kind::Any, Idle, "No effect here."),
        key("settings", Kind::Any, Idle, "No effect here."),
    ],
};

/// An MCP server.
pub(super) static SERVER: Table = Table {
    name: "an MCP server",
    key: "server",
    keys: &[
        key("name", Kind::Text, Required, "The name of the server."),
        key(
            "enabled",
            Kind::Flag,
            Optional,
            "Whether the server is used. Default: true.",
        ),
        key("description", Kind::Text, Optional, "A description."),
        key(
            "config",
            Kind::One(&START),
            Optional,
            "How it is started or reached.",
        ),
        key(
            "command",
            Kind::Text,
            Optional,
            "The program that is the server.",
        ),
        key(
            "arguments",
            Kind::Texts,
            Optional,
            "The arguments of `command`.",
        ),
        key(
            "mcp_config_id",
            Kind::Text,
            Optional,
            "A server of the configuration.",
        ),
        key(
            "tools",
            Kind::Texts,
            Optional,
            "The only tools that are used. Default: all.",
        ),
        key(
            "tools_tokens_size_limit",
            Kind::Integer(1, MAX),
            Optional,
            "Maximum tokens of the results of its tools.",
        ),
        key(
            "integration_alias",
            Kind::Text,
            Optional,
            "The integration of the configuration whose values it gets.",
        ),
        key("settings", Kind::Any, Idle, "No effect here."),
        key("mcp_connect_url", Kind::Any, Idle, "No effect here."),
        key("mcp_connect_auth_token", Kind::Any, Idle, "No effect here."),
        key(
            "resolve_dynamic_values_in_arguments",
            Kind::Any,
            Idle,
            "No effect here.",
        ),
        key("use_custom_config", Kind::Any, Idle, "No effect here."),
        key("audience", Kind::Any, Idle, "No effect here."),
        key("auth_config", Kind::Any, Idle, "No effect here."),
    ],
};

/// How an MCP server is started or accessed.
pub(super) static START: Table = Table {
    name: "the `config` of an MCP server",
    key: "server_config",
    keys: &[
        key(
            "command",
            Kind::Text,
            Optional,
            "The program that is the server; no shell reads it.",
        ),
        key("url", Kind::Text, Optional, "The address of the server."),
        key("args", Kind::Texts, Optional, "The arguments of `command`."),
        key(
            "env",
            Kind::TextMap,
            Optional,
            "Environment variables of `command`.",
        ),
        key("headers", Kind::TextMap, Optional, "Headers sent to `url`."),
        key(
            "auth_token",
            Kind::Text,
            Optional,
            "The bearer token sent to `url`.",
        ),
        key(
            "type",
            Kind::Word(&["streamable-http"]),
            Optional,
            "The transport. Default: stdio for `command`, SSE for `url`.",
        ),
        key(
            "single_usage",
            Kind::Flag,
            Optional,
            "Whether each call gets a fresh server.",
        ),
        key("audience", Kind::Any, Idle, "No effect here."),
        key("auth_config", Kind::Any, Idle, "No effect here."),
        key("settings", Kind::Any, Idle, "No effect here."),
        key("use_custom_config", Kind::Any, Idle, "No effect here."),
    ],
};

/// A custom node.
pub(super) static NODE: Table = Table {
    name: "a custom node",
    key: "custom_node",
    keys: &[
        key(
            "id",
            Kind::Text,
            Required,
            "The name by which states refer to it.",
        ),
        key(
            "custom_node_id",
            Kind::Text,
            Optional,
            "Its type. Default: the id.",
        ),
        key("name", Kind::Text, Optional, "The name shown."),
        key("model", Kind::Text, Optional, "The model it uses."),
        key(
            "system_prompt",
            Kind::Text,
            Optional,
            "The system prompt of that model.",
        ),
        key(
            "config",
            Kind::Map,
            Optional,
            "The configuration of its type.",
        ),
    ],
};

/// A state.
pub(super) static STATE: Table = Table {
    name: "a state",
    key: "state",
    keys: &[
        key(
            "id",
            Kind::Text,
            Required,
            "The name by which other states refer to it.",
        ),
        key(
            "assistant_id",
            Kind::Text,
            Optional,
            "The assistant that works here.",
        ),
        key(
            "tool_id",
            Kind::Text,
            Optional,
            "The tool that is called here.",
        ),
        key(
            "custom_node_id",
            Kind::Text,
            Optional,
            "The custom node that works here.",
        ),
        key("task", Kind::Text, Optional, "The instruction, a template."),
        key("next", Kind::One(&NEXT), Required, "What follows."),
        key(
            "resolve_dynamic_values_in_prompt",
            Kind::Flag,
            Optional,
            "Whether templates in `task` and `system_prompt` are filled. Default: true.",
        ),
        key(
            "output_schema",
            Kind::Schema,
            Optional,
            "The JSON Schema that the output must match.",
        ),
        key(
            "interrupt_before",
            Kind::Flag,
            Optional,
            "Whether a person is asked before the state begins.",
        ),
        key(
            "wait_for_user_confirmation",
            Kind::Flag,
            Optional,
            "Another name of `interrupt_before`.",
        ),
        key(
            "tool_args",
            Kind::Map,
            Optional,
            "Arguments that override those of the tool, key by key.",
        ),
        key(
            "finish_iteration",
            Kind::Flag,
            Optional,
            "Whether `iter_key` splits this output instead of the item.",
        ),
        key(
            "result_as_human_message",
            Kind::Flag,
            Optional,
            "Whether the output enters the history as a person's message.",
        ),
        key(
            "retry_policy",
            Kind::One(&RETRY),
            Optional,
            "How failures are retried.",
        ),
        key(
            "on_error",
            Kind::Text,
            Optional,
            "The state that an error leads to.",
        ),
        key(
            "timeout",
            Kind::Decimal(0, 3_600_000),
            Optional,
            "The timeout of the whole state, in seconds.",
        ),
        key(
            "policy",
            Kind::One(&POLICY),
            Optional,
            "What tool calls the state allows, as in the native format.",
        ),
    ],
};

/// The tool calls that a state allows: the native format's policy.
pub(super) static POLICY: Table = Table {
    name: "a `policy`",
    key: "policy",
    keys: &[
        key(
            "allowed_tools",
            Kind::Texts,
            Optional,
            "The only tools that the assistant may call; `*` is a wildcard.",
        ),
        key(
            "disallowed_tools",
            Kind::Texts,
            Optional,
            "Tools that are denied even if they are allowed.",
        ),
        key(
            "on_denied",
            Kind::Word(&["deny", "ask"]),
            Optional,
            "Whether a call of another tool is denied, or a person is asked. Default: `deny`.",
        ),
        key(
            "max_iterations",
            Kind::Integer(1, u64::MAX),
            Optional,
            "Maximum allowed calls in one stay.",
        ),
        key(
            "max_edit_lines",
            Kind::Integer(1, u64::MAX),
            Optional,
            "Maximum lines that one edit may touch.",
        ),
        key(
            "max_files_per_state",
            Kind::Integer(1, u64::MAX),
            Optional,
            "Maximum number of different files written in one stay.",
        ),
        key(
            "context_budget_bytes",
            Kind::Integer(1, u64::MAX),
            Optional,
            "Maximum bytes of tool results in one stay.",
        ),
        key(
            "allowed_commands",
            Kind::Texts,
            Optional,
            "Commands that a shell line may run, by their first words.",
        ),
        key(
            "blocked_env",
            Kind::Texts,
            Optional,
            "Variables that a shell line may not use.",
        ),
        key(
            "env_overrides",
            Kind::TextMap,
            Optional,
            "Variables set for shell lines.",
        ),
    ],
};

/// What follows a state.
pub(super) static NEXT: Table = Table {
    name: "`next`",
    key: "next",
    keys: &[
        key(
            "state_id",
            Kind::Text,
            Optional,
            "The state that follows, or `end`.",
        ),
        key(
            "state_ids",
            Kind::Texts,
            Optional,
            "The states that follow, in parallel.",
        ),
        key(
            "condition",
            Kind::One(&CONDITION),
            Optional,
            "Two states to choose from.",
        ),
        key(
            "switch",
            Kind::One(&SWITCH),
            Optional,
            "The first case that holds.",
        ),
        key(
            "iter_key",
            Kind::Text,
            Optional,
            "The key of the list for whose items `state_id` is entered.",
        ),
        key(
            "include_in_iterator_context",
            Kind::Texts,
            Optional,
            "The context keys that items get. Default: all.",
        ),
        key(
            "override_task",
            Kind::Flag,
            Optional,
            "Whether this output becomes the item of the next state.",
        ),
        key(
            "on_item_error",
            Kind::Word(&["fail", "skip", "collect"]),
            Optional,
            "What happens if an item fails. Default: `fail`.",
        ),
        key(
            "per_item",
            Kind::Flag,
            Optional,
            "Whether each item continues by itself.",
        ),
        key(
            "store_in_context",
            Kind::Flag,
            Optional,
            "Whether the keys of the output enter the context. Default: true.",
        ),
        key(
            "output_key",
            Kind::Text,
            Optional,
            "The context key that gets the whole output.",
        ),
        key(
            "clear_context_store",
            Kind::Clear,
            Optional,
            "Whether the context is cleared; `keep_current`: except for this output.",
        ),
        key(
            "reset_keys_in_context_store",
            Kind::Texts,
            Optional,
            "Context keys that are removed before the output is stored.",
        ),
        key(
            "append_to_context",
            Kind::Flag,
            Optional,
            "Whether each key of the output extends a list.",
        ),
        key(
            "include_in_llm_history",
            Kind::Flag,
            Optional,
            "Whether later agents see the output. Default: true.",
        ),
        key(
            "keep_history",
            Kind::Flag,
            Optional,
            "The former name of `include_in_llm_history`.",
        ),
        key(
            "clear_prior_messages",
            Kind::Flag,
            Optional,
            "Whether the history keeps only this output.",
        ),
    ],
};

/// Two states to choose from.
pub(super) static CONDITION: Table = Table {
    name: "a `condition`",
    key: "condition",
    keys: &[
        key(
            "expression",
            Kind::Text,
            Required,
            "The expression over the output and the context that decides.",
        ),
        key(
            "then",
            Kind::Text,
            Required,
            "The state that follows if it holds.",
        ),
        key(
            "otherwise",
            Kind::Text,
            Required,
            "The state that follows if it does not hold.",
        ),
    ],
};

/// Cases to choose from.
pub(super) static SWITCH: Table = Table {
    name: "a `switch`",
    key: "switch",
    keys: &[
        key(
            "cases",
            Kind::List(&CASE),
            Required,
            "The cases, tried in order.",
        ),
        key(
            "default",
            Kind::Text,
            Required,
            "The state that follows if no case holds.",
        ),
    ],
};

/// One case.
pub(super) static CASE: Table = Table {
    name: "a case of a `switch`",
    key: "case",
    keys: &[
        key(
            "condition",
            Kind::Text,
            Required,
            "The condition of the case.",
        ),
        key("state_id", Kind::Text, Required, "The state that follows."),
    ],
};

/// How failures are retried.
pub(super) static RETRY: Table = Table {
    name: "a `retry_policy`",
    key: "retry_policy",
    keys: &[
        key(
            "initial_interval",
            Kind::Decimal(0, 3_600_000),
            Optional,
            "Seconds before the second attempt. Default: 0.5.",
        ),
        key(
            "max_interval",
            Kind::Decimal(0, 3_600_000),
            Optional,
            "The longest wait in seconds. Default: 128.",
        ),
        key(
            "backoff_factor",
            Kind::Decimal(1, 10),
            Optional,
            "The factor for each further wait. Default: 2.",
        ),
        key(
            "max_attempts",
            Kind::Integer(1, 100),
            Optional,
            "Maximum attempts, including the first. Default: 10.",
        ),
        key(
            "jitter",
            Kind::Flag,
            Optional,
            "Whether each wait is up to one second longer.",
        ),
    ],
};
