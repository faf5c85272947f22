//! The machine: what a workflow file compiles to.
//!
//! Immutable, and the same whichever format it was written in. Knows no run.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    guard::{Guard, GuardRef},
    names::{EventName, GuardName, InterruptName, MachineId, StateName},
    policy::Policy,
};

mod seal;

/// A context, an input or transition data: a JSON object, in order.
pub type Object = Map<String, Value>;

/// A compiled workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The id the workflow file gives.
    pub id: MachineId,
    /// SHA-256 of the compiled content, lower-case hex; empty until sealed.
    #[serde(default)]
    pub hash: String,
    /// The state a run starts in.
    pub initial: StateName,
    /// The context a run starts with.
    #[serde(default)]
    pub context: Object,
    /// Every state, in the order written; generated ones last.
    pub states: IndexMap<StateName, State>,
    /// Every named guard.
    #[serde(default)]
    pub guards: IndexMap<GuardName, Guard>,
    /// Every interrupt, in the order written.
    #[serde(default)]
    pub interrupts: IndexMap<InterruptName, Interrupt>,
    /// Every machine that this one or one of these calls; only the outermost has any.
    ///
    /// The key is unique in the file; the machine's own `id` is what paths show.
    #[serde(default)]
    pub machines: IndexMap<MachineId, Machine>,
    /// The bounds of a run.
    #[serde(default)]
    pub limits: Limits,
    /// What the engine carries along without reading.
    #[serde(default)]
    pub meta: Object,
}

/// The bounds of a run. Nothing is unbounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Calls of machines within calls.
    pub call_depth_max: usize,
    /// Transitions taken by one command without an effect in between.
    pub steps_max: usize,
    /// Branches of one fork or map.
    pub branches_max: usize,
    /// Tool calls without an outcome that a run remembers.
    pub open_calls_max: usize,
    /// Interrupt matches kept for one handler.
    pub queue_max: usize,
    /// Bytes of the context, as JSON text.
    pub context_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call_depth_max: 16,
            steps_max: 1_000,
            branches_max: 10_000,
            open_calls_max: 256,
            queue_max: 256,
            context_bytes_max: 1_048_576,
        }
    }
}

/// One state of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What happens while the state is current.
    #[serde(default)]
    pub activity: Activity,
    /// What tool calls the state allows.
    #[serde(default)]
    pub policy: Policy,
    /// What the agent is told each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What each event leads to, in the order written.
    #[serde(default)]
    pub on: IndexMap<EventName, Rule>,
    /// Where an event leads that `on` does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_next: Option<StateName>,
    /// The state written in the file that paths show in place of a generated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_as: Option<StateName>,
    /// A model the activity should use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the model should think, in the client's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
}

/// What happens while a state is current.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// An agent outside works until it asks for a transition.
    #[default]
    Await,
    /// A program runs; ends with `done` or `error`.
    Task(Work),
    /// A model works through one fresh transcript; ends with `done` or `error`.
    Stage(Work),
    /// A person is asked; ends with `done` or `error`.
    Ask(Work),
    /// The first transition on `done` whose guards pass is taken at once.
    Choice,
    /// Another machine runs to its end.
    Call(Call),
    /// Branches run, each a frame of its own.
    Fork(Fork),
    /// One branch runs for each item of a list.
    Map(MapOver),
    /// Time passes.
    Wait {
        /// How long, in milliseconds.
        wait_ms: u64,
    },
    /// The machine ends here.
    Final {
        /// How it ended.
        outcome: Outcome,
    },
}

/// What a runner carries out for a task, a stage or a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Which of the runner's programs this is (`bash`, `model`, …).
    pub kind: String,
    /// What it is given.
    #[serde(default)]
    pub input: Value,
}

/// A call of another machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Key into [`Machine::machines`].
    pub machine: MachineId,
    /// Patches the called machine's own context.
    #[serde(default)]
    pub input: Object,
    /// The keys that come back; `None`: all but the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
}

/// Branches that run beside each other and join.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fork {
    /// Each branch by name, in the order written.
    pub branches: IndexMap<String, Branch>,
    /// When the fork ends.
    #[serde(default)]
    pub join: Join,
}

/// One branch of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The state it starts in.
    pub initial: StateName,
    /// The state whose entry is its success.
    pub terminal: StateName,
}

/// When a fork ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// When every branch succeeded, or at the first failure.
    #[default]
    All,
    /// At the first success, or when every branch failed.
    Any,
}

/// One branch for each item of a list in the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapOver {
    /// JSON Pointer into the context to the list of items.
    pub items: String,
    /// The context key under which a branch finds its item.
    pub item: String,
    /// Where each branch starts and succeeds.
    pub branch: Branch,
    /// When the map ends.
    #[serde(default)]
    pub join: Join,
}

/// How a machine, a branch or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As hoped.
    Success,
    /// Otherwise.
    Failure,
}

/// What one event of a state leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Whether it was written as a list of branches.
    #[serde(default)]
    pub branched: bool,
    /// The transitions, tried in order.
    pub transitions: Vec<Transition>,
}

/// One transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// All must pass.
    #[serde(default)]
    pub guards: Vec<GuardRef>,
    /// Where it leads.
    pub target: Target,
    /// A person must say yes before it is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRule>,
}

/// Where a transition leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// To a state of the same machine.
    State(StateName),
    /// Back to the state that an interrupt left.
    Return,
    /// Out of the machine.
    End(Outcome),
}

/// A person must say yes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRule {
    /// What the person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A detour taken when a file is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Pattern of paths relative to the project root.
    pub file_pattern: String,
    /// The handler state.
    pub target: StateName,
}

impl Machine {
    /// Returns the machine a frame runs in: this one, or one it calls.
    #[must_use]
    pub fn called(&self, key: Option<&MachineId>) -> Option<&Self> {
        key.map_or(Some(self), |key| self.machines.get(key))
    }

    /// Returns the name that paths show for `state`.
    #[must_use]
    pub fn shown<'a>(&'a self, state: &'a StateName) -> &'a StateName {
        self.states
            .get(state)
            .and_then(|known| known.shown_as.as_ref())
            .unwrap_or(state)
    }
}

impl State {
    /// Tells whether Interlock itself carries the activity out and raises its ends.
    #[must_use]
    pub const fn raises_own_events(&self) -> bool {
        !matches!(self.activity, Activity::Await | Activity::Final { .. })
    }
}
