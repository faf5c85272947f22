//! The control tools as a model sees them: names, descriptions and arguments.

use interlock_core::{call::ControlTool, machine::Object};
use serde_json::{Value, json};

use crate::settings::ToolPrefix;

/// Description of a control tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolText {
    /// The tool.
    pub control: ControlTool,
    /// Name after the prefix.
    pub name: &'static str,
    /// Name after `statewright_`, if it differs.
    pub statewright: Option<&'static str>,
    /// Title for people.
    pub title: &'static str,
    /// What the tool does and when to call it; `{p}` stands for the prefix.
    pub description: &'static str,
    /// Arguments of the tool.
    pub(crate) fields: &'static [Field],
    /// Whether the tool only reads.
    pub read_only: bool,
    /// Whether repeating a call with the same arguments has no further effect.
    pub idempotent: bool,
}

/// One argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) description: &'static str,
}

/// Type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A short text that is not empty.
    Name,
    /// A text.
    Text,
    /// A JSON object.
    Object,
}

impl Kind {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Name | Self::Text => "a text",
            Self::Object => "a JSON object",
        }
    }

    const fn schema_type(self) -> &'static str {
        match self {
            Self::Name | Self::Text => "string",
            Self::Object => "object",
        }
    }
}

const fn field(name: &'static str, kind: Kind, description: &'static str) -> Field {
    Field {
        name,
        kind,
        required: false,
        description,
    }
}

const fn required(name: &'static str, kind: Kind, description: &'static str) -> Field {
    Field {
        name,
        kind,
        required: true,
        description,
    }
}

const BRANCH: Field = field(
    "branch",
    Kind::Name,
    "Only while branches run concurrently: the branch you work in, such as `lint` or `outer/inner`. Default: your own, or else the first unfinished one.",
);

/// Every control tool, in the order listed.
pub(crate) const TOOLS: [ToolText; 6] = [
    ToolText {
        control: ControlTool::GetState,
        name: "get_state",
        statewright: None,
        title: "State of the work",
        description: "Returns the phase that your work is in: the instructions of the phase, the tools and shell commands it allows, what is left of its limits, and which events lead to which phase. Call it when you are not sure what is allowed, after a refusal, or after your context was compacted. Changes nothing.",
        fields: &[BRANCH],
        read_only: true,
        idempotent: true,
    },
    ToolText {
        control: ControlTool::Transition,
        name: "transition",
        statewright: None,
        title: "Request a transition",
        description: "Moves the work to another phase by naming one of the events of the current phase, exactly as written. Call it when the work of this phase is done, not before; what you may do changes with it. It is refused, and nothing changes, if the event does not exist here or a guard does not hold: the answer says which and why, so do what is missing and request it again. Guards see the context from before this call: what you send in `data` counts from the next transition on. Some guards need evidence that was observed, such as a test command that passed after the last edit; claims in `data` do not satisfy them. If a person has to approve, the work waits for them: stop and tell them.",
        fields: &[
            required(
                "event",
                Kind::Name,
                "The event, exactly as the current phase names it, such as `READY`.",
            ),
            field(
                "data",
                Kind::Object,
                "What later phases need to know, merged into the context once the transition is taken: top-level keys are replaced as a whole, keys that begin with `_` are refused. Put the reason for the transition under `rationale`.",
            ),
            BRANCH,
        ],
        read_only: false,
        idempotent: false,
    },
    ToolText {
        control: ControlTool::ListWorkflows,
        name: "list_workflows",
        statewright: None,
        title: "Available workflows",
        description: "Lists the workflows that can be started here with {p}_start, with their phases. Changes nothing.",
        fields: &[],
        read_only: true,
        idempotent: true,
    },
    ToolText {
        control: ControlTool::Start,
        name: "start",
        statewright: Some("load_workflow"),
        title: "Start a workflow",
        description: "Starts a workflow that guards this session: every tool call is judged by the current phase, until the workflow ends. Start one when you are asked to, or when the task fits one of {p}_list_workflows. Refused while another run of this session is open: it must be finished first, or cancelled by a person.",
        fields: &[
            required(
                "workflow",
                Kind::Name,
                "The name of a workflow, as {p}_list_workflows shows it.",
            ),
            field(
                "input",
                Kind::Object,
                "Sets keys of the workflow's context as it begins.",
            ),
        ],
        read_only: false,
        idempotent: false,
    },
    ToolText {
        control: ControlTool::Pause,
        name: "pause",
        statewright: None,
        title: "Pause",
        description: "Pauses the work: every further tool call is refused until a person resumes it. Call it when you cannot continue without a person, and give the reason. You cannot resume it yourself.",
        fields: &[field(
            "reason",
            Kind::Text,
            "The reason, for the person who has to answer.",
        )],
        read_only: false,
        idempotent: true,
    },
    ToolText {
        control: ControlTool::CreateWorkflow,
        name: "create_workflow",
        statewright: None,
        title: "Draft a workflow",
        description: "Checks a workflow definition and writes it as a draft for a person to read. A draft cannot be started before a person adopts it. If the definition has errors, each is reported with its line and nothing is written. Never replaces a workflow or a draft: choose a new name.",
        fields: &[
            required(
                "name",
                Kind::Name,
                "A new name of letters, digits, `_` and `-`.",
            ),
            required(
                "definition",
                Kind::Object,
                "The workflow: `id`, `initial`, `states` (each with `instructions`, `allowed_tools`, `allowed_commands`, `on`: event to target, or `type: final`), and as needed `context`, `guards`, `interrupts`.",
            ),
        ],
        read_only: false,
        idempotent: false,
    },
];

impl ToolText {
    /// Returns the description of a control tool.
    pub(crate) fn of(control: ControlTool) -> &'static Self {
        let [first, ..] = &TOOLS;
        TOOLS
            .iter()
            .find(|tool| tool.control == control)
            .unwrap_or(first)
    }

    /// Returns the full name with `prefix`.
    #[must_use]
    pub fn full_name(&self, prefix: ToolPrefix) -> String {
        let own = match prefix {
            ToolPrefix::Interlock => None,
            ToolPrefix::Statewright => self.statewright,
        };
        format!("{prefix}_{}", own.unwrap_or(self.name))
    }

    /// Returns the description for a model.
    #[must_use]
    pub fn full_description(&self, prefix: ToolPrefix) -> String {
        with_names(self.description, prefix)
    }

    /// Returns the definition for `tools/list`.
    #[must_use]
    pub fn definition(&self, prefix: ToolPrefix) -> Value {
        json!({
            "name": self.full_name(prefix),
            "title": self.title,
            "description": self.full_description(prefix),
            "inputSchema": self.schema(prefix),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": false,
                "idempotentHint": self.idempotent,
                "openWorldHint": false,
            },
        })
    }

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn schema(&self, prefix: ToolPrefix) -> Object {
        let property = |field: &Field| {
            let description = with_names(field.description, prefix);
            (
                field.name.to_owned(),
                json!({"type": field.kind.schema_type(), "description": description}),
            )
        };
        let mut schema = Object::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert(
            "properties".to_owned(),
            Value::Object(self.fields.iter().map(property).collect()),
        );
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name)
            .collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
        schema
    }
}

/// Instructions for a model about the tools together; `{p}` stands for the prefix.
const INSTRUCTIONS: &str = "Interlock guards this session with a workflow: a machine with phases, each of which allows some tools and commands. A call that a phase does not allow is refused, and the refusal says what is allowed and which events lead on. Do the work of the current phase, then call {p}_transition with one of its events; {p}_get_state describes the current phase. Approvals are up to people: no tool can approve, force a phase or switch Interlock off, and other attempts to do so are refused, too.";

/// Returns the instructions for a model about all control tools.
#[must_use]
pub fn instructions(prefix: ToolPrefix) -> String {
    with_names(INSTRUCTIONS, prefix)
}

/// Replaces the prefix in a text.
fn with_names(text: &str, prefix: ToolPrefix) -> String {
    let start = ToolText::of(ControlTool::Start).full_name(prefix);
    text.replace("{p}_start", &start)
        .replace("{p}", prefix.as_str())
}

/// Returns all control tools in the order shown.
#[must_use]
pub fn listed_tools() -> &'static [ToolText] {
    &TOOLS
}

/// Returns the control tool with the full name `name`, under either prefix.
#[must_use]
pub fn control_tool(name: &str) -> Option<ControlTool> {
    let rest = ToolPrefix::ALL
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix.as_str())?.strip_prefix('_'))?;
    TOOLS
        .iter()
        .find(|tool| tool.name == rest || tool.statewright == Some(rest))
        .map(|tool| tool.control)
}
