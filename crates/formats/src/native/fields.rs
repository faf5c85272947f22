//! Every field of the native format. The reference for people is made of these lines.

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
    doc: "A workflow: its states, and what leads from one to another.",
    open: false,
    choice: Choice::Free,
    fields: &workflow_fields(true),
};

/// A workflow in `machines`, where the key gives the id.
pub(crate) static MACHINE: Table = Table {
    name: "a workflow",
    key: "machine",
    doc: "A workflow that others of the file invoke; its key is its id.",
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
        required("initial", Shape::Name, "The state a run starts in."),
        required(
            "states",
            Shape::MapOf(&STATE),
            "Every state by name, in an order that is kept.",
        ),
        field(
            "context",
            Shape::Object,
            "The values that guards read, as a run starts with them.",
        ),
        field(
            "properties",
            Shape::List("property"),
            "What `interlock prove` checks; ignored by the engine.",
        ),
        field(
            "finish",
            Shape::OneOf(&["optional", "required"]),
            "`required`: an agent that ends its work before a final state is told to go on.",
        ),
        field(
            "guards",
            Shape::MapOf(&GUARD),
            "Conditions by name, for transitions to ask.",
        ),
        field(
            "interrupts",
            Shape::MapOf(&INTERRUPT),
            "Detours that a written file sets off, by name.",
        ),
        field(
            "machines",
            Shape::MapOf(&MACHINE),
            "Workflows that `invoke` finds by these ids.",
        ),
        field(
            "meta",
            Shape::Of(&META),
            "What people and tools want to know; any other field may stand here too.",
        ),
    ]
}

pub(crate) static STATE: Table = Table {
    name: "a state",
    key: "state",
    doc: "A phase of the work: what may be done in it, and what leads on.",
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
        "How a run that ends here ended; `success` unless the name says otherwise.",
    ),
    field(
        "allowed_tools",
        Shape::Names,
        "The tools that pass, `*` as wildcard; left out: all, empty: none.",
    ),
    field(
        "disallowed_tools",
        Shape::Names,
        "Tools that are denied even when the list allows them.",
    ),
    field(
        "on_denied",
        Shape::OneOf(&["deny", "ask"]),
        "What becomes of a call outside `allowed_tools`: denied, or a person is asked.",
    ),
    field(
        "approval",
        Shape::OneOf(&["passkey"]),
        "`passkey`: a yes to a call, or to the beginning of the state, takes one of the person's passkeys.",
    ),
    field(
        "secrets",
        Shape::OneOf(&["allow", "deny"]),
        "Whether files, variables and stores that hold secrets may be read.",
    ),
    field(
        "instructions",
        Shape::Text,
        "What the agent is told in every turn here.",
    ),
    field(
        "max_iterations",
        Shape::Count,
        "Tool calls in one stay; then only a transition is left.",
    ),
    field(
        "safe_next",
        Shape::Name,
        "Where an event leads that `on` does not have.",
    ),
    field(
        "max_edit_lines",
        Shape::Count,
        "Lines that one edit may touch.",
    ),
    field(
        "max_files_per_state",
        Shape::Count,
        "Distinct files that may be written in one stay.",
    ),
    field(
        "allowed_commands",
        Shape::Names,
        "Beginnings of shell commands that may run; empty: none.",
    ),
    field(
        "background",
        Shape::Names,
        "Beginnings of shell commands whose programs may go on when their line has ended.",
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
        "Unix sockets that shell lines may connect to, or directories of them; left out: none.",
    ),
    field(
        "context_budget_bytes",
        Shape::Count,
        "Bytes of tool results in one stay.",
    ),
    field(
        "on",
        Shape::MapBy("transition"),
        "What each event leads to.",
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
            "The state it leads to, or `$return` out of an interrupt.",
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
            "A person must say yes first.",
        ),
        field(
            "approval_message",
            Shape::Text,
            "What that person is asked.",
        ),
        field(
            "approval",
            Shape::OneOf(&["passkey"]),
            "`passkey`: a person must say yes with one of their passkeys.",
        ),
        field(
            "fork",
            Shape::Of(&FORK),
            "Branches that all start here and join again.",
        ),
        field(
            "invoke",
            Shape::Name,
            "The id of a workflow that runs in between.",
        ),
        field(
            "on_complete",
            Shape::Name,
            "The state after the invoked workflow succeeded.",
        ),
        field(
            "on_fail",
            Shape::Name,
            "The state after the invoked workflow failed; left out: the run fails.",
        ),
        field(
            "input",
            Shape::Object,
            "Values that patch the invoked workflow's own context.",
        ),
        field(
            "output",
            Shape::Names,
            "The keys of its context that come back; left out: all but the inputs.",
        ),
    ],
};

pub(crate) static FORK: Table = Table {
    name: "a fork",
    key: "fork",
    doc: "Branches, each with a line of execution of its own.",
    open: false,
    choice: Choice::Free,
    fields: &[
        required(
            "branches",
            Shape::MapOf(&BRANCH),
            "Every branch by name, in an order that is kept.",
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
            "The state after they failed; left out: the run fails.",
        ),
    ],
};

pub(crate) static BRANCH: Table = Table {
    name: "a branch of a fork",
    key: "branch",
    doc: "Where a branch begins and where it has succeeded.",
    open: false,
    choice: Choice::Free,
    fields: &[
        required("initial", Shape::Name, "The state the branch starts in."),
        required(
            "terminal",
            Shape::Name,
            "The state whose entry is the branch's success.",
        ),
    ],
};

pub(crate) static INTERRUPT: Table = Table {
    name: "an interrupt",
    key: "interrupt",
    doc: "A detour to a handler state that a written file sets off.",
    open: false,
    choice: Choice::Free,
    fields: &[
        required("trigger", Shape::Of(&TRIGGER), "What sets it off."),
        required("target", Shape::Name, "The handler state."),
    ],
};

pub(crate) static TRIGGER: Table = Table {
    name: "a trigger",
    key: "trigger",
    doc: "What sets an interrupt off.",
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
    doc: "What people and tools want to know about a workflow.",
    open: true,
    choice: Choice::Free,
    fields: &[
        field(
            "task_type",
            Shape::Text,
            "What kind of work it is, such as `bugfix`.",
        ),
        field(
            "estimated_steps",
            Shape::Count,
            "About how many tool calls it takes.",
        ),
        field(
            "danger_level",
            Shape::OneOf(&["safe", "moderate", "dangerous"]),
            "How much harm it could do.",
        ),
        field(
            "requires_human_approval",
            Shape::Bool,
            "Whether a person must approve something on the way.",
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
    doc: "A workflow with the MCP servers it goes with.",
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
            "MCP servers that the gateway stands in front of.",
        ),
    ],
};

pub(crate) static GATEWAY: Table = Table {
    name: "a gateway configuration",
    key: "gateway",
    doc: "Workflows by name, with the MCP servers they go with.",
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
            "The one to take when none is named.",
        ),
        field(
            "upstream_servers",
            Shape::Any,
            "MCP servers that the gateway stands in front of.",
        ),
    ],
};
