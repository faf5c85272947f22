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
    "Only while branches run side by side: the branch you work in, such as `lint` or `outer/inner`. Left out: your own, else the first unfinished one.",
);

/// Every control tool, in the order listed.
pub(crate) const TOOLS: [ToolText; 6] = [
    ToolText {
        control: ControlTool::GetState,
        name: "get_state",
        statewright: None,
        title: "Where the work stands",
        description: "Says which phase your work is in: the instructions of the phase, the tools and shell commands it allows, what is left of its limits, and which events lead to which phase. Call it when you are not sure what is allowed, after a refusal, or after your context was compacted. Changes nothing.",
        fields: &[BRANCH],
        read_only: true,
        idempotent: true,
    },
    ToolText {
        control: ControlTool::Transition,
        name: "transition",
        statewright: None,
        title: "Move on",
        description: "Moves the work to another phase by naming one of the events of the current phase, exactly as written. Call it when the work of this phase is done, not before; what you may do changes with it. It is refused, and nothing changes, where the event does not exist here or a guard does not hold: the answer says which and why, so do what is missing and ask again. Guards see the context from before this call: what you send in `data` counts from the next transition on. Some guards look at what was really seen, such as a test command that passed after the last edit; saying so in `data` does not open those. Where a person has to approve, the work waits for them: stop and tell them.",
        fields: &[
            required(
                "event",
                Kind::Name,
                "The event, exactly as the current phase names it, such as `READY`.",
            ),
            field(
                "data",
                Kind::Object,
                "What later phases need to know, merged into the context once the transition is taken: top-level keys are replaced whole, keys that begin with `_` are refused. Put why you move on under `rationale`.",
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
        title: "Workflows there are",
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
        description: "Holds this session to a workflow from now on: every tool call is judged by the phase it is in, until the workflow ends. Start one when you are asked to, or when the task fits one of {p}_list_workflows. Refused while another run of this session is open: that one has to be finished, or a person cancels it.",
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
        title: "Stand still",
        description: "Stops the work: from then on every tool call is refused until a person resumes it. Call it when you cannot go on without a person, and say why. You cannot resume it yourself.",
        fields: &[field(
            "reason",
            Kind::Text,
            "Why, for the person who has to answer.",
        )],
        read_only: false,
        idempotent: true,
    },
    ToolText {
        control: ControlTool::CreateWorkflow,
        name: "create_workflow",
        statewright: None,
        title: "Draft a workflow",
        description: "Checks a workflow definition and writes it as a draft for a person to read. A draft cannot be started: only a person adopts it. Every mistake is reported with its line and nothing is written then. Never replaces a workflow or a draft: take a new name.",
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
const INSTRUCTIONS: &str = "Interlock holds this session to a workflow: a machine with phases, each allowing some tools and commands. A call that a phase does not allow is refused, with what is allowed and which events lead on. Do the work of the current phase, then move on with {p}_transition and one of its events; {p}_get_state says where you are. What needs a person waits for a person: there is no tool to approve, force or switch off, and trying other ways is refused too.";

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
