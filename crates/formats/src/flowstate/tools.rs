//! The available tools and their arguments.

use interlock_core::machine::TestOp;

use super::syntax::ToolArgument;

/// The kind of an argument's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Text with templates.
    Text,
    /// A required duration.
    Duration,
    /// A boolean, which a template may produce.
    Boolean,
    /// A boolean that is known at load time.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// JSON as text.
    Json,
    /// Text, or a list of texts.
    Texts,
    /// Environment variables.
    Env,
    /// Answers to choose from.
    Options,
    /// A command that must succeed.
    Condition,
    /// A name without templates.
    Name,
    /// Retry policy.
    Retry,
}

/// One argument of a tool.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) shape: Shape,
    /// Description in one sentence.
    pub(super) doc: &'static str,
}

/// A tool that a runner executes.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) arguments: &'static [Argument],
    /// Whether it has an output that can be captured.
    pub(super) output: bool,
    /// Program that it needs; empty for none.
    pub(super) program: &'static str,
    /// Whether its output comes from a model, a person or an issue.
    pub(super) foreign: bool,
    /// Defaults of arguments.
    pub(super) defaults: &'static [(&'static str, &'static str)],
}

const fn required(name: &'static str, doc: &'static str) -> Argument {
    Argument {
        name,
        required: true,
        shape: Shape::Text,
        doc,
    }
}

const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Argument {
    Argument {
        name,
        required: false,
        shape,
        doc,
    }
}

const PROMPT: Argument = required("prompt", "The prompt.");
const ENV: Argument = optional("env", Shape::Env, "Environment variables of the program.");
const RETRY: Argument = optional(
    "retry",
    Shape::Retry,
    "Maximum attempts, including the first.",
);
const MODEL: Argument = optional("model", Shape::Text, "The model that the agent uses.");
const TIMEOUT: Argument = optional(
    "timeout",
    Shape::Duration,
    "The timeout: `30s`, `5m`, `1h`.",
);
const GUARD: Argument = optional(
    "guard",
    Shape::Name,
    "The native workflow that guards the agent; the outcome of its run is that of the state.",
);
const CAPTURE: Argument = optional(
    "capture",
    Shape::OneOf(&["stdout", "both"]),
    "Whether standard error belongs to the output, too.",
);
const OUTPUT_FORMAT: Argument = optional(
    "output-format",
    Shape::OneOf(&["text", "json", "stream-json"]),
    "How the agent writes its answer.",
);
const AGENT_TIMEOUT: &[(&str, &str)] = &[("timeout", "5m")];

/// Every tool that a runner executes.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "bash",
        arguments: &[
            required("command", "The command for bash."),
            TIMEOUT,
            optional("cwd", Shape::Text, "Where it runs: `@/` is the project."),
            optional(
                "shell-safe",
                Shape::Flag,
                "Whether values reach the command as environment variables.",
            ),
            ENV,
            RETRY,
        ],
        output: true,
        program: "bash",
        foreign: false,
        defaults: &[],
    },
    Tool {
        name: "claude",
        arguments: &[
            PROMPT,
            MODEL,
            TIMEOUT,
            optional(
                "resume",
                Shape::Text,
                "The id of an earlier conversation to continue.",
            ),
            optional(
                "append-system-prompt",
                Shape::Text,
                "Text that is appended to the system prompt.",
            ),
            optional(
                "allowed-tools",
                Shape::Texts,
                "The tools that the agent may use without asking.",
            ),
            OUTPUT_FORMAT,
            optional(
                "json-output-schema",
                Shape::Json,
                "A JSON Schema, as text, that the answer must match.",
            ),
            ENV,
            RETRY,
            CAPTURE,
            GUARD,
        ],
        output: true,
        program: "claude",
        foreign: true,
        defaults: AGENT_TIMEOUT,
    },
    Tool {
        name: "codex",
        arguments: &[PROMPT, MODEL, TIMEOUT, ENV, RETRY, CAPTURE, GUARD],
        output: true,
        program: "codex",
        foreign: true,
        defaults: AGENT_TIMEOUT,
    },
    Tool {
        name: "gemini",
        arguments: &[
            PROMPT,
            MODEL,
            TIMEOUT,
            OUTPUT_FORMAT,
            ENV,
            RETRY,
            CAPTURE,
            GUARD,
        ],
        output: true,
        program: "gemini",
        foreign: true,
        defaults: AGENT_TIMEOUT,
    },
    Tool {
        name: "claude-code",
        arguments: &[PROMPT, MODEL, ENV, RETRY, GUARD],
        output: false,
        program: "claude",
        foreign: false,
        defaults: &[],
    },
    Tool {
        name: "ask-user",
        arguments: &[
            required("question", "The question."),
            optional(
                "multiline",
                Shape::Boolean,
                "Whether an answer may have several lines; an empty line ends it.",
            ),
            optional("options", Shape::Options, "The answers to choose from."),
            optional(
                "allow-custom",
                Shape::Boolean,
                "Whether other answers are accepted, too.",
            ),
        ],
        output: true,
        program: "",
        foreign: true,
        defaults: &[("multiline", "false"), ("allow-custom", "false")],
    },
    Tool {
        name: "get-gh-issue",
        arguments: &[
            required("issue-number", "The number of the issue on GitHub."),
            optional(
                "repo",
                Shape::Text,
                "The repository, as `owner/name`. Default: the project's.",
            ),
            ENV,
            RETRY,
        ],
        output: true,
        program: "gh",
        foreign: true,
        defaults: &[],
    },
    Tool {
        name: "pause",
        arguments: &[
            required("reason", "Why the run waits, in at most 500 characters."),
            optional(
                "condition",
                Shape::Condition,
                "A command that must succeed before the run continues.",
            ),
        ],
        output: false,
        program: "",
        foreign: false,
        defaults: &[],
    },
];

/// Tools that test a value.
pub(super) const TESTS: [(&str, TestOp); 9] = [
    ("if-equal", TestOp::Equal),
    ("if-not-equal", TestOp::NotEqual),
    ("if-greater", TestOp::Greater),
    ("if-less", TestOp::Less),
    ("if-greater-equal", TestOp::GreaterEqual),
    ("if-less-equal", TestOp::LessEqual),
    ("if-empty", TestOp::Empty),
    ("if-not-empty", TestOp::NotEmpty),
    ("switch", TestOp::Value),
];

/// Tools that contain others.
pub(super) const COMPOSED: [&str; 3] = ["sub-flow", "parallel", "for-each"];

/// Finds a tool that a runner executes.
pub(super) fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Returns whether a name belongs to a tool that every file has.
pub(super) fn is_built_in(name: &str) -> bool {
    built_in().any(|known| known == name)
}

/// Returns the names of the tools that every file has.
pub(super) fn built_in() -> impl Iterator<Item = &'static str> {
    let tools = TOOLS.iter().map(|tool| tool.name);
    tools
        .chain(TESTS.iter().map(|(name, _)| *name))
        .chain(COMPOSED)
}

/// Finds an argument by name.
pub(super) fn given<'a>(
    all: &'a [(&'static str, ToolArgument)],
    name: &str,
) -> Option<&'a ToolArgument> {
    all.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, given)| given)
}
