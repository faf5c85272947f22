//! The machine: what a workflow file compiles to.
//!
//! Immutable, and the same whichever format it was written in. Knows no run.

use indexmap::IndexMap;
use interlock_expr::text::{Text, ValueTemplate};
use serde::{Deserialize, Serialize};

use crate::{
    guard::{Guard, GuardRef},
    names::{EventName, GuardName, InterruptName, MachineId, StateName},
    policy::Policy,
};

mod agents;
mod conversation;
mod evidence;
mod flags;
mod parallel;
mod retry;
mod seal;
mod stage;
mod task;

pub use agents::{AgentWork, ServerStart, ServerWork};
pub use conversation::{Condensing, ConversationRules};
pub use flags::{Clear, DataFlags};
pub use parallel::{Branch, Join, Merge, OnItemError, Over, OverItems, OverLines, Parallel};
pub use retry::Retry;
pub use stage::{
    ApprovalBefore, Assertion, BEGIN, Budget, Ending, Mode, ModeRules, ModelOptions, ModelStage,
    Otherwise, Refused, StageRules,
};
pub use task::{EffectKind, NodeKind, Task, TaskKind};

/// A context, an input or transition data.
pub use crate::parts::ApprovalKind;
pub use interlock_expr::Object;

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
    /// Whether the agent that the run holds may end its work before the run has ended.
    #[serde(default, skip_serializing_if = "Finish::is_optional")]
    pub finish: Finish,
    /// Whether starts of effects are events, and a failed run can go on where it failed.
    ///
    /// Only the outermost machine is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub durable: bool,
    /// What holds for all model stages; `None`: it has none. Only the outermost machine is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageRules>,
    /// What holds where lines carry a conversation; `None`: they carry none. Only the outermost machine is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationRules>,
    /// What models of states have beside their prompts. Only the outermost machine is asked.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub agents: IndexMap<StateName, AgentWork>,
}

/// Whether an agent may end its work before the run has ended. Only the outermost machine is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It may.
    #[default]
    Optional,
    /// It is told to go on, a few times in each state.
    Required,
}

impl Finish {
    /// Tells whether this is what holds where a workflow says nothing.
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        matches!(self, Self::Optional)
    }
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
    /// States at work at the same time in the whole run; `None`: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<usize>,
    /// States that one line of execution enters; `None`: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_states_max: Option<u64>,
    /// States that one run enters; `None`: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states_max: Option<u64>,
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
            states_max: None,
            at_once: None,
            line_states_max: None,
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
    /// Where the output of the activity goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// What the output does to the context and to the conversation; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataFlags>,
    /// How often the activity is tried; `None`: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What follows when the runner died while the activity ran.
    #[serde(default, skip_serializing_if = "OnCrash::is_default")]
    pub on_crash: OnCrash,
    /// How long a task may take in milliseconds, tries and the waits between them included; `None`: no bound.
    ///
    /// A model stage has [`ModelStage::timeout_ms`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether the region of an item goes on from here to the states that are written, without ending.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_item: bool,
    /// Whether only the outermost line enters it: any other that is led here ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_lines: bool,
    /// Whether it is an assistant's: a state that sums up takes the model of the last that spoke.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub speaks: bool,
    /// What a person is asked before the state begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_before: Option<ApprovalBefore>,
    /// What a person's yes takes in this state: to its beginning, and to calls in it.
    #[serde(default, skip_serializing_if = "ApprovalKind::is_default")]
    pub approval: ApprovalKind,
    /// The code that every failure of the activity counts as, but for a cancellation; `None`: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_with: Option<i64>,
}

/// Where the output of an activity goes when it succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// Into the context, as text without blanks at both ends, under this key.
    Key(String),
    /// Into a file, byte for byte; written by whoever carries the activity out.
    File(Text),
}

/// What follows when the runner died while an activity ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCrash {
    /// A person says what became of it.
    Ask,
    /// It is started again.
    #[default]
    Retry,
    /// It counts as failed with code 1.
    Fail,
}

impl OnCrash {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens while a state is current.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// An agent outside works until it asks for a transition.
    #[default]
    Await,
    /// A program runs, or a node is computed; ends with `done` or `error`.
    Task(Task),
    /// A model works through one fresh transcript; ends with `done` or `error`.
    Stage(Box<ModelStage>),
    /// A person is asked this; ends with `done` or `error`.
    Ask(ValueTemplate),
    /// The first transition on `done` whose guards pass is taken at once.
    Choice,
    /// A value is looked at; ends with `done` and what was found, or with `error`.
    Test(Test),
    /// The run stands until a person resumes it; ends with `done` or `error`.
    Pause(ValueTemplate),
    /// Another machine runs to its end.
    Call(Call),
    /// Regions run, each a frame of its own, and join.
    Parallel(Parallel),
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

impl Activity {
    /// Returns its regions; `None`: it has none.
    #[must_use]
    pub const fn parallel(&self) -> Option<&Parallel> {
        match self {
            Self::Parallel(parallel) => Some(parallel),
            _ => None,
        }
    }

    /// Returns its branches by name; `None`: it has none that are written.
    #[must_use]
    pub fn branches(&self) -> Option<&IndexMap<String, Branch>> {
        match &self.parallel()?.over {
            Over::Branches(branches) => Some(branches),
            Over::Items(_) | Over::Lines(_) => None,
        }
    }

    /// Returns the items that it has a line for each.
    #[must_use]
    pub fn items(&self) -> Option<&OverItems> {
        match &self.parallel()?.over {
            Over::Items(items) => Some(items),
            Over::Branches(_) | Over::Lines(_) => None,
        }
    }

    /// Returns the lines of text that it runs a machine for each.
    #[must_use]
    pub fn lines(&self) -> Option<&OverLines> {
        match &self.parallel()?.over {
            Over::Lines(lines) => Some(lines),
            Over::Branches(_) | Over::Items(_) => None,
        }
    }

    /// Tells whether its regions are frames in its own machine.
    #[must_use]
    pub fn forks(&self) -> bool {
        self.parallel()
            .is_some_and(|parallel| !matches!(parallel.over, Over::Lines(_)))
    }
}

/// A value that is looked at without any program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// What is looked at.
    pub left: Text,
    /// The comparison.
    pub op: TestOp,
    /// What it is compared with; empty where `op` takes one side.
    #[serde(default)]
    pub right: Text,
}

/// How a value is looked at; the output is the text `true` or `false` for all but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOp {
    /// Both sides are the same without blanks at their ends.
    Equal,
    /// They are not.
    NotEqual,
    /// The left number is greater.
    Greater,
    /// The left number is less.
    Less,
    /// The left number is not less.
    GreaterEqual,
    /// The left number is not greater.
    LessEqual,
    /// Blanks only, or the text `null`.
    Empty,
    /// Anything else.
    NotEmpty,
    /// The output is the value itself.
    Value,
}

/// A call of another machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Key into [`Machine::machines`].
    pub machine: MachineId,
    /// Patches the called machine's own context.
    #[serde(default)]
    pub input: Object,
    /// The keys that come back; `None`: all but the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
    /// Patches it too, with holes filled from the caller's context; every key comes back.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub passed: IndexMap<String, Text>,
    /// All keys come back below this name, as `NAME::KEY`, and the last output too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub branched: bool,
    /// The transitions, tried in order.
    pub transitions: Vec<Transition>,
}

/// One transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// All must pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    /// What their yes has to come with.
    #[serde(default, skip_serializing_if = "ApprovalKind::is_default")]
    pub kind: ApprovalKind,
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
    /// Tells whether a model has a part in it: whether it, or a machine it calls, has a model stage.
    #[must_use]
    pub fn has_stages(&self) -> bool {
        std::iter::once(self)
            .chain(self.machines.values())
            .flat_map(|machine| machine.states.values())
            .any(|state| matches!(state.activity, Activity::Stage(_)))
    }

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
    /// Tells whether what its stage hands in goes to `upstream`, for the stages behind it.
    ///
    /// The output of any other stage goes where its data flags say.
    #[must_use]
    pub const fn hands_upstream(&self) -> bool {
        self.data.is_none()
    }

    /// Tells whether an attempt of its stage that failed is followed by another one from the beginning.
    ///
    /// An attempt that is part of a conversation is not: see [`ModelStage::repeats_calls`].
    #[must_use]
    pub const fn repeats_attempts(&self) -> bool {
        self.data.is_none()
    }

    /// Tells whether Interlock itself carries the activity out and raises its ends.
    #[must_use]
    pub const fn raises_own_events(&self) -> bool {
        !matches!(self.activity, Activity::Await | Activity::Final { .. })
    }

    /// Tells whether `event` is one that only the activity itself raises, as it ends.
    #[must_use]
    pub fn raises(&self, event: &str) -> bool {
        let of_stage = matches!(self.activity, Activity::Stage(_))
            && matches!(event, "CAP" | "FAIL" | "SKIP" | "ERROR");
        of_stage || (self.raises_own_events() && matches!(event, "done" | "error"))
    }
}
