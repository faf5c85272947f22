//! The keys of every object of a FlowState file: parsing rules and descriptions for editors, one table per object.

use serde_json::{Value, json};

use super::shapes::{
    count, duration, environment, flag, map_of, name, on_error, one_or_many, or_null, reference,
    states, text, word,
};

/// A key of an object.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Whether it is required.
    pub(super) required: bool,
    /// Allowed values, as JSON Schema.
    pub(super) schema: fn() -> Value,
    /// Description in one sentence.
    pub(super) doc: &'static str,
}

impl Key {
    /// Returns the name, and whether the key is required.
    pub(super) const fn rule(&self) -> (&'static str, bool) {
        (self.name, self.required)
    }
}

const fn may(name: &'static str, schema: fn() -> Value, doc: &'static str) -> Key {
    Key {
        name,
        required: false,
        schema,
        doc,
    }
}

const fn must(name: &'static str, schema: fn() -> Value, doc: &'static str) -> Key {
    Key {
        required: true,
        ..may(name, schema, doc)
    }
}

fn name_or_null() -> Value {
    or_null(name())
}

fn duration_or_null() -> Value {
    or_null(duration())
}

fn output() -> Value {
    or_null(reference("output"))
}

fn any_arguments() -> Value {
    json!({ "type": ["object", "null"] })
}

/// The file itself.
pub(super) const TOP: &[Key] = &[
    may(
        "name",
        name_or_null,
        "The name of the workflow. Default: that of its file.",
    ),
    may("start-at", name_or_null, "The initial state."),
    may("states", states, "Every state by name; the order counts."),
    may(
        "variables",
        || map_of(text()),
        "Variables with their initial texts.",
    ),
    may(
        "extends",
        name_or_null,
        "The workflow whose states, variables and tools this one inherits.",
    ),
    may(
        "description",
        name_or_null,
        "A description, shown in lists.",
    ),
    may(
        "shell-safe",
        || or_null(flag()),
        "Whether values reach bash as environment variables only.",
    ),
    may(
        "cwd",
        name_or_null,
        "Where bash runs unless a state says otherwise: `@/` is the project.",
    ),
    may(
        "tools",
        || map_of(reference("tool")),
        "Tools that this file defines.",
    ),
    may(
        "max-transitions",
        || or_null(json!({ "type": ["integer", "string"], "minimum": 1 })),
        "Maximum number of states that a run enters.",
    ),
];

/// A state.
pub(super) const STATE: &[Key] = &[
    must("tool", name, TOOL_DOC),
    may("arguments", any_arguments, ARGUMENTS_DOC),
    may("output", output, OUTPUT_DOC),
    may(
        "next",
        name_or_null,
        "The state after success. Default: the run ends.",
    ),
    may("on-error", on_error, "The state after each failing code."),
    may(
        "goto",
        || map_of(name()),
        "The state for each output; `_` is for the rest.",
    ),
    may("start-at", name, BODY_START_DOC),
    may("states", states, BODY_DOC),
    may(
        "on-crash",
        || word(&["ask", "retry", "fail"]),
        "What happens to the state if the run is interrupted here.",
    ),
    may("description", name_or_null, "A description."),
];

/// A task of `parallel`.
pub(super) const TASK: &[Key] = &[
    must("tool", name, TOOL_DOC),
    may("arguments", any_arguments, ARGUMENTS_DOC),
    may("output", output, OUTPUT_DOC),
    may(
        "name",
        name_or_null,
        "Its name. Default: its number, from 0.",
    ),
    may("start-at", name, BODY_START_DOC),
    may("states", states, BODY_DOC),
];

/// A tool whose output is a list of items.
pub(super) const SOURCE: &[Key] = &[
    must("tool", name, TOOL_DOC),
    may("arguments", any_arguments, ARGUMENTS_DOC),
];

const TOOL_DOC: &str = "What the state does: a built-in tool or one of `tools`.";
const ARGUMENTS_DOC: &str = "The arguments of the tool.";
const OUTPUT_DOC: &str = "Where the output is stored.";
const BODY_START_DOC: &str = "The initial state of the body of `for-each`.";
const BODY_DOC: &str = "The body of `for-each`.";

/// A tool that a file defines.
pub(super) const TOOL: &[Key] = &[
    must(
        "command",
        || json!({ "type": "array", "minItems": 1, "items": text() }),
        "The program and its arguments; no shell reads them.",
    ),
    may(
        "arguments",
        || json!({ "type": ["object", "null"], "properties": { "type": { "const": "object" } } }),
        "A JSON Schema of the arguments it takes.",
    ),
    may("timeout", duration_or_null, "The timeout."),
    may("cwd", text, "Where it runs. Default: the project."),
    may("env", environment, "Environment variables of the program."),
    may("stdin", text, "Its standard input."),
];

/// Retry policy.
pub(super) const RETRY: &[Key] = &[
    must(
        "attempts",
        || count(100),
        "Maximum attempts, including the first.",
    ),
    may(
        "wait",
        duration_or_null,
        "The wait before the second attempt.",
    ),
    may(
        "backoff",
        || json!({ "type": ["number", "string"] }),
        "The factor for each further wait.",
    ),
    may("max-wait", duration_or_null, "The longest wait."),
    may(
        "codes",
        || or_null(one_or_many(&count(255))),
        "The exit codes that are retried. Default: all but 130.",
    ),
];

/// The arguments of `sub-flow`.
pub(super) const SUB_FLOW: &[Key] = &[
    must("workflow", name, "The workflow: a name or a path."),
    may(
        "variables",
        || map_of(text()),
        "Values that override its defaults.",
    ),
    may(
        "as",
        name_or_null,
        "The name under which its variables are found.",
    ),
];

/// The arguments of `parallel`.
pub(super) const PARALLEL: &[Key] = &[
    must(
        "tasks",
        || json!({ "type": "array", "minItems": 1, "items": reference("task") }),
        "The parallel tasks.",
    ),
    may(
        "max-concurrency",
        || or_null(count(10_000)),
        "Maximum tasks that run at the same time.",
    ),
    may(
        "fail-fast",
        || or_null(flag()),
        "Whether the first failure cancels the rest.",
    ),
];

/// The arguments of `for-each`.
pub(super) const FOR_EACH: &[Key] = &[
    must(
        "items-from",
        || json!({ "anyOf": [{ "type": ["string", "number", "boolean"] }, reference("source")] }),
        "A command, or a tool with an output, whose lines are the items.",
    ),
    may("start-at", name, "The initial state of the body."),
    may("states", states, "The body, which runs once for each item."),
    may(
        "on-empty",
        || word(&["continue", "fail"]),
        "What happens if there is no item.",
    ),
    may(
        "on-iteration-error",
        || word(&["stop", "continue"]),
        "What happens if an item fails.",
    ),
];

/// The arguments of a test of one value.
pub(super) const ONE_VALUE: &[Key] = &[must("value", text, "The value that is tested.")];

/// The arguments of a test of two values.
pub(super) const TWO_VALUES: &[Key] = &[
    must("left", text, "The first value."),
    must("right", text, "The second value."),
];

/// An answer to choose.
pub(super) const OPTION: &[Key] = &[
    must("value", text, "The value that is stored."),
    may("description", text, "A text that is shown with it."),
];

/// A command that must succeed.
pub(super) const CONDITION: &[Key] = &[
    may("tool", || json!({ "const": "bash" }), "Always `bash`."),
    must("command", text, "The command that must succeed."),
    may("timeout", duration_or_null, "The timeout."),
];
