//! Every field of the native format. The reference in the book is generated from these lines.

use super::{
    guard_fields::{EVIDENCE, GUARD},
    substance::REPORT,
};
use crate::{
    stage::keys::of_native,
    table::{Choice, Field, Shape, Table, aliased, field, joined, required},
};

/// Every table, in the order of the schema.
pub(crate) const TABLES: &[&Table] = &[
    &WORKFLOW,
    &MACHINE,
    &STATE,
    &STAGE,
    &of_native::RETRY,
    &of_native::OPTIONS,
    &of_native::ASSERTION,
    &TRANSITION,
    &FORK,
    &BRANCH,
    &GUARD,
    &EVIDENCE,
    &REPORT,
    &INTERRUPT,
    &TRIGGER,
    &META,
    &WRAPPER,
    &GATEWAY,
];

pub(crate) static WORKFLOW: Table = Table {
    name: "a workflow",
    key: "workflow",
    doc: "A workflow: its states and transitions.",
    open: false,
    choice: Choice::Free,
    fields: &workflow_fields(true),
};

/// A workflow in `machines`, whose key is the id.
pub(crate) static MACHINE: Table = Table {
    name: "a workflow",
    key: "machine",
    doc: "A workflow that other workflows of the file invoke; its key is its id.",
    open: false,
    choice: Choice::Free,
    fields: &workflow_fields(false),
};

const fn workflow_fields(id_required: bool) -> [Field; 11] {
    let id = Field {
        required: id_required,
        ..field("id", Shape::Name, "The unique id of the workflow.")
    };
    [
        field(
            "$schema",
            Shape::Any,
            "The address of this schema; ignored.",
        ),
        id,
        required("initial", Shape::Name, "The initial state."),
        required(
            "states",
            Shape::MapOf(&STATE),
            "Every state by name; the order counts.",
        ),
        field(
            "context",
            Shape::Object,
            "The initial values that guards read.",
        ),
        field(
            "properties",
            Shape::List("property"),
            "Properties that `interlock prove` checks; the engine ignores them.",
        ),
        field(
            "finish",
            Shape::OneOf(&["optional", "required"]),
            "`required`: an agent that finishes before a final state is told to continue.",
        ),
        field(
            "guards",
            Shape::MapOf(&GUARD),
            "Guards by name, for use in transitions.",
        ),
        field(
            "interrupts",
            Shape::MapOf(&INTERRUPT),
            "Detours that are taken when a file is written, by name.",
        ),
        field(
            "machines",
            Shape::MapOf(&MACHINE),
            "Workflows that `invoke` can call, by id.",
        ),
        field(
            "meta",
            Shape::Of(&META),
            "Information for people and tools; any other field is allowed.",
        ),
    ]
}

pub(crate) static STATE: Table = Table {
    name: "a state",
    key: "state",
    doc: "A phase of the work: what is allowed in it, and its transitions.",
    open: false,
    choice: Choice::Free,
    fields: &STATE_FIELDS,
};

/// The fields of every state.
pub(crate) const STATE_FIELDS: [Field; 24] = [
    field(
        "type",
        Shape::By("state_type"),
        "`final`: the run ends here; `stage`: a model is called here.",
    ),
    field(
        "outcome",
        Shape::OneOf(&["success", "failure"]),
        "The outcome of a run that ends here. Default: `success`, unless the state's name implies a failure.",
    ),
    field(
        "allowed_tools",
        Shape::Names,
        "The allowed tools; `*` is a wildcard. Empty: none. Default: all.",
    ),
    field(
        "disallowed_tools",
        Shape::Names,
        "Tools that are denied even if the list allows them.",
    ),
    field(
        "on_denied",
        Shape::OneOf(&["deny", "ask"]),
        "Whether a call outside `allowed_tools` is denied, or a person is asked.",
    ),
    field(
        "approval",
        Shape::OneOf(&["passkey"]),
        "`passkey`: approving a call, or the entry of the state, requires one of the person's passkeys.",
    ),
    field(
        "secrets",
        Shape::OneOf(&["allow", "deny"]),
        "Whether files, variables and stores that hold secrets may be read.",
    ),
    field(
        "instructions",
        Shape::Text,
        "Instructions that the agent is shown with every prompt.",
    ),
    field(
        "max_iterations",
        Shape::Count,
        "Maximum tool calls in one stay. After that, only a transition is possible.",
    ),
    field(
        "safe_next",
        Shape::Name,
        "The target of every event that `on` does not list.",
    ),
    field(
        "max_edit_lines",
        Shape::Count,
        "Maximum lines that one edit may touch.",
    ),
    field(
        "max_files_per_state",
        Shape::Count,
        "Maximum number of different files written in one stay.",
    ),
    field(
        "allowed_commands",
        Shape::Names,
        "Shell commands that may run, by their first words; empty: none.",
    ),
    field(
        "background",
        Shape::Names,
        "Shell commands, by their first words, whose programs may keep running after their line has ended.",
    ),
    aliased(
        "blocked_env",
        &["deny_env"],
        Shape::Names,
        "Environment variables that a shell line may not use.",
    ),
    aliased(
        "env_overrides",
        &["env"],
        Shape::Texts,
        "Environment variables the agent is told to set for shell lines.",
    ),
    field(
        "sockets",
        Shape::Names,
        "Unix sockets, or directories of them, that shell lines may connect to. Default: none.",
    ),
    field(
        "context_budget_bytes",
        Shape::Count,
        "Maximum bytes of tool results in one stay.",
    ),
    field(
        "on",
        Shape::MapBy("transition"),
        "The transition of each event.",
    ),
    field(
        "model",
        Shape::Name,
        "The model to work with here, for clients that can change it.",
    ),
    field(
        "thinking_level",
        Shape::Name,
        "How hard the model should think, for clients that can change it.",
    ),
    field(
        "direct_execution",
        Shape::Bool,
        "Accepted; does nothing here.",
    ),
    field(
        "model_ladder",
        Shape::List("models"),
        "Accepted; does nothing here.",
    ),
    field(
        "allowed_commands_tool",
        Shape::Name,
        "Accepted; does nothing here.",
    ),
];

/// A state in which Interlock itself calls a model.
pub(crate) static STAGE: Table = Table {
    name: "a stage",
    key: "stage",
    doc: "A state in which a model is called, in a fresh transcript: `type: stage`.",
    open: false,
    choice: Choice::Free,
    fields: &joined::<24, 10, 34>(STATE_FIELDS, of_native::STAGE),
};

pub(crate) static TRANSITION: Table = Table {
    name: "a transition",
    key: "transition_object",
    doc: "A transition: to a state, through branches, or through another workflow.",
    open: false,
    choice: Choice::OneOf(&[&["target"], &["fork"], &["invoke", "on_complete"]]),
    fields: &[
        field(
            "target",
            Shape::Name,
            "The target state, or `$return` to the state that an interrupt left.",
        ),
        field(
            "guard",
            Shape::By("guard_ref"),
            "A guard that must hold: a name, or a guard written in place.",
        ),
        field(
            "guards",
            Shape::List("guards"),
            "Guards that must all hold.",
        ),
        field(
            "requires_approval",
            Shape::Bool,
            "Whether a person must approve the transition first.",
        ),
        field(
            "approval_message",
            Shape::Text,
            "The question to that person.",
        ),
        field(
            "approval",
            Shape::OneOf(&["passkey"]),
            "`passkey`: the approval requires one of the person's passkeys.",
        ),
        field(
            "fork",
            Shape::Of(&FORK),
            "Branches that start here and join later.",
        ),
        field(
            "invoke",
            Shape::Name,
            "The id of a workflow that the transition runs first.",
        ),
        field(
            "on_complete",
            Shape::Name,
            "The state after the invoked workflow succeeded.",
        ),
        field(
            "on_fail",
            Shape::Name,
            "The state after the invoked workflow failed. Default: the run fails.",
        ),
        field(
            "input",
            Shape::Object,
            "Values that are merged into the context of the invoked workflow.",
        ),
        field(
            "output",
            Shape::Names,
            "The keys of its context that are returned. Default: all but the inputs.",
        ),
    ],
};

pub(crate) static FORK: Table = Table {
    name: "a fork",
    key: "fork",
    doc: "Branches that run independently of each other.",
    open: false,
    choice: Choice::Free,
    fields: &[
        required(
            "branches",
            Shape::MapOf(&BRANCH),
            "Every branch by name; the order counts.",
        ),
        field(
            "join",
            Shape::OneOf(&["all", "any"]),
            "`all`: every branch must succeed; `any`: the first success is enough.",
        ),
        required(
            "on_complete",
            Shape::Name,
            "The state after the branches joined.",
        ),
        field(
            "on_fail",
            Shape::Name,
            "The state after a failure. Default: the run fails.",
        ),
    ],
};

pub(crate) static BRANCH: Table = Table {
    name: "a branch of a fork",
    key: "branch",
    doc: "The initial state of a branch, and the state in which it has succeeded.",
    open: false,
    choice: Choice::Free,
    fields: &[
        required("initial", Shape::Name, "The initial state of the branch."),
        required(
            "terminal",
            Shape::Name,
            "The state in which the branch has succeeded.",
        ),
    ],
};

pub(crate) static INTERRUPT: Table = Table {
    name: "an interrupt",
    key: "interrupt",
    doc: "A detour to a handler state, taken when a file is written.",
    open: false,
    choice: Choice::Free,
    fields: &[
        required("trigger", Shape::Of(&TRIGGER), "What causes it."),
        required("target", Shape::Name, "The handler state."),
    ],
};

pub(crate) static TRIGGER: Table = Table {
    name: "a trigger",
    key: "trigger",
    doc: "What causes an interrupt.",
    open: false,
    choice: Choice::Free,
    fields: &[required(
        "file_pattern",
        Shape::Name,
        "A pattern of paths relative to the project, such as `site/**/*.js`.",
    )],
};

pub(crate) static META: Table = Table {
    name: "`meta`",
    key: "meta",
    doc: "Information about the workflow for people and tools.",
    open: true,
    choice: Choice::Free,
    fields: &[
        field(
            "task_type",
            Shape::Text,
            "The kind of work, such as `bugfix`.",
        ),
        field(
            "estimated_steps",
            Shape::Count,
            "Approximate number of tool calls.",
        ),
        field(
            "danger_level",
            Shape::OneOf(&["safe", "moderate", "dangerous"]),
            "How dangerous the work is.",
        ),
        field(
            "requires_human_approval",
            Shape::Bool,
            "Whether a person must approve something during the run.",
        ),
        field(
            "capture_output",
            Shape::Bool,
            "Whether the text of tool results is kept beside the log.",
        ),
        field(
            "default_model",
            Shape::Name,
            "The model of states that name none.",
        ),
        field("debug", Shape::Any, "Accepted; does nothing here."),
        field("autonomous", Shape::Any, "Accepted; does nothing here."),
        field("orchestration", Shape::Any, "Accepted; does nothing here."),
        field("approval_mode", Shape::Any, "Accepted; does nothing here."),
    ],
};

pub(crate) static WRAPPER: Table = Table {
    name: "a wrapped workflow",
    key: "wrapper",
    doc: "A workflow with its MCP servers.",
    open: false,
    choice: Choice::Free,
    fields: &[
        field(
            "$schema",
            Shape::Any,
            "The address of this schema; ignored.",
        ),
        required("definition", Shape::Of(&WORKFLOW), "The workflow."),
        field(
            "upstream_servers",
            Shape::Any,
            "MCP servers for the gateway.",
        ),
    ],
};

pub(crate) static GATEWAY: Table = Table {
    name: "a gateway configuration",
    key: "gateway",
    doc: "Workflows by name, with their MCP servers.",
    open: false,
    choice: Choice::Free,
    fields: &[
        field(
            "$schema",
            Shape::Any,
            "The address of this schema; ignored.",
        ),
        required(
            "workflows",
            Shape::MapOf(&WORKFLOW),
            "Every workflow by name.",
        ),
        field(
            "default",
            Shape::Name,
            "The workflow that is used if none is named.",
        ),
        field(
            "upstream_servers",
            Shape::Any,
            "MCP servers for the gateway.",
        ),
    ],
};
