//! The machine: what a workflow file compiles to.
//!
//! A machine is immutable and does not depend on the format of its workflow file. It knows nothing of runs.

use indexmap::IndexMap;
use interlock_expr::text::{Text, ValueTemplate};
use serde::{Deserialize, Serialize};

use crate::{
    defaults::is_default,
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
pub use interlock_expr::Object;

/// A compiled workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Id from the workflow file.
    pub id: MachineId,
    /// SHA-256 of the compiled content, lower-case hex; empty until sealed.
    #[serde(default)]
    pub hash: String,
    /// State that a run starts in.
    pub initial: StateName,
    /// Context that a run starts with.
    #[serde(default)]
    pub context: Object,
    /// States in the order written, generated ones last.
    pub states: IndexMap<StateName, State>,
    /// Named guards.
    #[serde(default)]
    pub guards: IndexMap<GuardName, Guard>,
    /// Interrupts in the order written.
    #[serde(default)]
    pub interrupts: IndexMap<InterruptName, Interrupt>,
    /// Machines that this one calls, directly or not; only the outermost machine has any.
    ///
    /// The key is unique in the file; paths show the machine's own `id`.
    #[serde(default)]
    pub machines: IndexMap<MachineId, Machine>,
    /// Limits of a run.
    #[serde(default)]
    pub limits: Limits,
    /// Metadata that the engine does not read.
    #[serde(default)]
    pub meta: Object,
    /// Whether a guarded agent may finish before the run has ended.
    #[serde(default, skip_serializing_if = "FinishRule::is_optional")]
    pub finish: FinishRule,
    /// Whether the run is durable: effects are recorded when they start, and a failed run can be reopened.
    ///
    /// Only the outermost machine's value counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub durable: bool,
    /// Rules for all model stages; `None`: there are none. Only the outermost machine's value counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StageRules>,
    /// Rules for conversations; `None`: the run has none. Only the outermost machine's value counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationRules>,
    /// What each state's model has besides its prompt. Only the outermost machine's value counts.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub agents: IndexMap<StateName, AgentWork>,
}

/// Whether an agent may finish before the run has ended. Only the outermost machine's value counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishRule {
    /// The agent may finish at any time.
    #[default]
    Optional,
    /// The agent is told to continue, a few times in each state.
    Required,
}

impl FinishRule {
    /// Returns whether this is the default, [`Self::Optional`].
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        matches!(self, Self::Optional)
    }
}

/// Limits of a run. Every quantity that could grow without end has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Depth of nested calls of machines.
    pub call_depth_max: usize,
    /// Transitions taken by one command without an effect in between.
    pub steps_max: usize,
    /// Branches of one fork.
    pub branches_max: usize,
    /// Open tool calls that a run remembers.
    pub open_calls_max: usize,
    /// Interrupts queued for one handler.
    pub queue_max: usize,
    /// Bytes of the context, as JSON text.
    pub context_bytes_max: usize,
    /// States active at the same time in the whole run; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<usize>,
    /// States that one region enters; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_states_max: Option<u64>,
    /// States that one run enters; `None`: no limit.
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
    /// Tool calls that the state allows.
    #[serde(default)]
    pub policy: Policy,
    /// Instructions given to the agent each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Transitions of each event, in the order written.
    #[serde(default)]
    pub on: IndexMap<EventName, Rule>,
    /// Target of events that `on` does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_next: Option<StateName>,
    /// Name shown in paths if the state is generated: the state of the file that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_as: Option<StateName>,
    /// Model that the activity should use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Thinking level of the model, in the client's own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Where the output of the activity is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// How the output is added to context and conversation; `None`: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataFlags>,
    /// Retry policy of the activity; `None`: one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What follows if the runner dies while the activity runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_crash: OnCrash,
    /// Time limit of a task in milliseconds, including retries and the waits between them; `None`: none.
    ///
    /// A model stage has [`ModelStage::timeout_ms`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether the region of an item continues from here to the next states, instead of ending.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_item: bool,
    /// Whether only the root frame enters the state; regions that lead here end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_lines: bool,
    /// Whether an assistant speaks in the state; a summarising state uses the model of the last one that spoke.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub speaks: bool,
    /// Approval that is needed before the state begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_before: Option<ApprovalBefore>,
    /// What approvals in this state require: of its entry, and of calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approval: ApprovalKind,
    /// Code of every failure of the activity except cancellation; `None`: the failure's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_with: Option<i64>,
}

/// Where the output of a successful activity is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// In the context under this key, as trimmed text.
    Key(String),
    /// In a file, byte for byte, written by the runner.
    File(Text),
}

/// What follows if the runner dies while an activity runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCrash {
    /// A person decides.
    Ask,
    /// Start the activity again.
    #[default]
    Retry,
    /// The activity fails with code 1.
    Fail,
}

/// What happens while a state is current.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// An agent outside works until it requests a transition.
    #[default]
    Await,
    /// A program runs, or a node is computed; ends with `done` or `error`.
    Task(Task),
    /// A model works through one fresh transcript; ends with `done` or `error`.
    Stage(Box<ModelStage>),
    /// A person answers a question; ends with `done` or `error`.
    Ask(ValueTemplate),
    /// The first transition on `done` whose guards hold is taken at once.
    Choice,
    /// A value is tested; ends with `done` and the result, or with `error`.
    Test(Test),
    /// The run waits until a person resumes it; ends with `done` or `error`.
    Pause(ValueTemplate),
    /// Another machine runs to its end.
    Call(Call),
    /// Regions run, each a frame of its own, and join.
    Parallel(Parallel),
    /// Time passes.
    Wait {
        /// Duration in milliseconds.
        wait_ms: u64,
    },
    /// The machine ends.
    Final {
        /// Outcome of the machine.
        outcome: Outcome,
    },
}

impl Activity {
    /// Returns the parallel activity; `None`: it is another one.
    #[must_use]
    pub const fn parallel(&self) -> Option<&Parallel> {
        match self {
            Self::Parallel(parallel) => Some(parallel),
            _ => None,
        }
    }

    /// Returns the branches by name; `None`: it has none.
    #[must_use]
    pub fn branches(&self) -> Option<&IndexMap<String, Branch>> {
        match &self.parallel()?.over {
            Over::Branches(branches) => Some(branches),
            Over::Items(_) | Over::Lines(_) => None,
        }
    }

    /// Returns the items that regions run for.
    #[must_use]
    pub fn items(&self) -> Option<&OverItems> {
        match &self.parallel()?.over {
            Over::Items(items) => Some(items),
            Over::Branches(_) | Over::Lines(_) => None,
        }
    }

    /// Returns the lines of text that a machine runs for.
    #[must_use]
    pub fn lines(&self) -> Option<&OverLines> {
        match &self.parallel()?.over {
            Over::Lines(lines) => Some(lines),
            Over::Branches(_) | Over::Items(_) => None,
        }
    }

    /// Returns whether its regions run in the same machine.
    #[must_use]
    pub fn forks(&self) -> bool {
        self.parallel()
            .is_some_and(|parallel| !matches!(parallel.over, Over::Lines(_)))
    }
}

/// A test of a value that needs no program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Value to test.
    pub left: Text,
    /// The comparison.
    pub op: TestOp,
    /// Value to compare with; empty if `op` takes one side.
    #[serde(default)]
    pub right: Text,
}

/// Operator of a test; the output is the text `true` or `false` for all but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOp {
    /// Both sides are equal after trimming.
    Equal,
    /// Both sides differ after trimming.
    NotEqual,
    /// The left number is greater.
    Greater,
    /// The left number is less.
    Less,
    /// The left number is not less.
    GreaterEqual,
    /// The left number is not greater.
    LessEqual,
    /// The value is blank, or the text `null`.
    Empty,
    /// The value is neither blank nor the text `null`.
    NotEmpty,
    /// The output is the value itself.
    Value,
}

/// A call of another machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Key into [`Machine::machines`].
    pub machine: MachineId,
    /// Keys that override the called machine's context.
    #[serde(default)]
    pub input: Object,
    /// Keys that are returned; `None`: all but the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
    /// Keys passed with holes filled from the caller's context; all of them are returned.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub passed: IndexMap<String, Text>,
    /// Prefix of returned keys, as `NAME::KEY`, and of the last output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// How a machine, a branch or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
}

/// What one event of a state leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Whether the rule was written as a list of branches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub branched: bool,
    /// Transitions, tried in order.
    pub transitions: Vec<Transition>,
}

/// One transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// Guards that must all hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<GuardRef>,
    /// Target of the transition.
    pub target: Target,
    /// Approval that is needed before it is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRule>,
}

/// Target of a transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A state of the same machine.
    State(StateName),
    /// The state that an interrupt left.
    Return,
    /// The end of the machine.
    End(Outcome),
}

/// An approval that a transition needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRule {
    /// Message shown to the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the approval requires besides a person's answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: ApprovalKind,
}

/// What an approval requires besides a person's answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// Nothing; the approval can be given wherever a person is asked.
    #[default]
    Person,
    /// An assertion of one of the person's passkeys.
    Passkey,
}

/// A detour that a run takes when a file is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Pattern of paths relative to the project root.
    pub file_pattern: String,
    /// The handler state.
    pub target: StateName,
}

impl Machine {
    /// Returns whether the machine, or one it calls, has a model stage.
    #[must_use]
    pub fn has_stages(&self) -> bool {
        std::iter::once(self)
            .chain(self.machines.values())
            .flat_map(|machine| machine.states.values())
            .any(|state| matches!(state.activity, Activity::Stage(_)))
    }

    /// Returns the machine that a frame runs in: this one, or one it calls.
    #[must_use]
    pub fn called(&self, key: Option<&MachineId>) -> Option<&Self> {
        key.map_or(Some(self), |key| self.machines.get(key))
    }

    /// Returns the name of `state` that paths show.
    #[must_use]
    pub fn shown<'a>(&'a self, state: &'a StateName) -> &'a StateName {
        self.states
            .get(state)
            .and_then(|known| known.shown_as.as_ref())
            .unwrap_or(state)
    }
}

impl State {
    /// Returns whether the result of its stage is added to `upstream`, for later stages.
    ///
    /// The output of any other stage is stored as its data flags say.
    #[must_use]
    pub const fn hands_upstream(&self) -> bool {
        self.data.is_none()
    }

    /// Returns whether a failed attempt of its stage is repeated from the beginning.
    ///
    /// An attempt that is part of a conversation is not: see [`ModelStage::repeats_calls`].
    #[must_use]
    pub const fn repeats_attempts(&self) -> bool {
        self.data.is_none()
    }

    /// Returns whether Interlock runs the activity itself and raises its events.
    #[must_use]
    pub const fn raises_own_events(&self) -> bool {
        !matches!(self.activity, Activity::Await | Activity::Final { .. })
    }

    /// Returns whether only the activity itself raises `event`, when it ends.
    #[must_use]
    pub fn raises(&self, event: &str) -> bool {
        let of_stage = matches!(self.activity, Activity::Stage(_))
            && matches!(event, "CAP" | "FAIL" | "SKIP" | "ERROR");
        of_stage || (self.raises_own_events() && matches!(event, "done" | "error"))
    }
}
