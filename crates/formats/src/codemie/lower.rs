//! Converts a CodeMie file to a machine: its states as written, and an additional one wherever several regions begin.

mod agent;
mod nodes;
pub(super) mod routes;
mod texts;
mod timing;
mod tools;

use indexmap::IndexMap;
use interlock_core::{
    machine::{
        Activity, AgentWork, ApprovalBefore, Condensing, ConversationRules, Limits, Machine,
        OnCrash, Outcome, Refused, StageRules, State as Lowered, Task,
    },
    names::{EventName, StateName},
    policy::Policy,
};
use interlock_expr::text::Text;
use interlock_validate::Place;

use super::{
    state::END,
    syntax::{Does, State, Workflow},
    works,
};
use crate::{native, spans::Spans};

use routes::{Routes, only, to};

/// Maximum size of the whole context in bytes.
const CONTEXT_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Maximum number of agents' attempts in one run; the limit of states entered by one region applies first.
const ATTEMPTS_MAX: u64 = 1_000_000;
/// State that summarizes before the end.
const FINALIZER: &str = "result_finalizer_node";

/// Creates the machine of a file without errors.
pub(super) fn lower(workflow: &Workflow, id: &str, strict: bool, spans: &mut Spans) -> Machine {
    let finalizes = workflow.limits.summary == Some(true);
    let mut lowering = Lowering {
        workflow,
        strict,
        routes: Routes::new(workflow, if finalizes { FINALIZER } else { END }, strict),
    };
    let mut states: IndexMap<StateName, Lowered> = IndexMap::new();
    for state in &workflow.states {
        let name = StateName::new(state.id.text.as_str());
        spans.note(None, Place::State(name.clone()), state.span);
        states.insert(name, lowering.state(state));
    }
    states.extend(lowering.routes.made);
    if finalizes {
        let mut last = nodes::finalizer(workflow);
        last.ends_lines = true;
        last.on.insert(EventName::new("done"), only(to(END)));
        states.insert(StateName::new(FINALIZER), last);
    }
    states.insert(StateName::new(END), ending());
    let first = workflow.states.first();
    let limits = &workflow.limits;
    let at_once = usize::try_from(limits.at_once).unwrap_or(usize::MAX);
    Machine {
        initial: StateName::new(first.map_or("", |state| state.id.text.as_str())),
        states,
        limits: Limits {
            at_once: Some(at_once),
            line_states_max: Some(limits.recursion),
            context_bytes_max: CONTEXT_BYTES_MAX,
            ..Limits::default()
        },
        durable: true,
        stages: Some(StageRules {
            at_once,
            executions_max: ATTEMPTS_MAX,
            ..StageRules::default()
        }),
        conversation: Some(ConversationRules {
            strict,
            condensing: (limits.summary != Some(false)).then_some(Condensing {
                messages_max: limits.messages,
                tokens_max: limits.tokens,
            }),
        }),
        agents: agents(workflow),
        ..native::empty(id)
    }
}

/// Returns what the models of states have besides their prompts, for the runner.
fn agents(workflow: &Workflow) -> IndexMap<StateName, AgentWork> {
    let states = workflow.states.iter();
    states
        .filter_map(|state| {
            let Some(Does::Assistant(id)) = &state.does else {
                return None;
            };
            let mut assistants = workflow.assistants.iter();
            let own = assistants.find(|one| one.id.text == id.text)?;
            Some((StateName::new(state.id.text.clone()), works::agent(own)?))
        })
        .collect()
}

struct Lowering<'w> {
    workflow: &'w Workflow,
    strict: bool,
    routes: Routes<'w>,
}

impl Lowering<'_> {
    fn state(&mut self, state: &State) -> Lowered {
        let mut made = self.works(state);
        if let Some(next) = &state.next {
            made.on
                .insert(EventName::new("done"), self.routes.after(state, next));
            let mut flags = texts::flags(state, &next.flags);
            if self.condenses(state) {
                // The history then consists of its first message and the summary.
                flags.clear_messages = true;
                flags.keep_first = true;
            }
            made.data = Some(flags);
            made.keeps_item = next.flags.per_item;
        }
        if let Some(target) = &state.on_error {
            let target = self.routes.target(&target.text);
            made.on.insert(EventName::new("error"), only(target));
        }
        if matches!(made.activity, Activity::Task(_)) {
            made.timeout_ms = timing::milliseconds(state.timeout.as_ref());
        }
        made.retry = Some(timing::retry(&state.retry, &self.workflow.retry));
        made.approval_before = state.asks_before.then(|| ApprovalBefore {
            // The engine provides the previous outputs, and the task as it would be sent.
            message: Text::default(),
            no: Refused::Cancels,
        });
        made
    }

    fn condenses(&self, state: &State) -> bool {
        let Some(Does::Node(id)) = &state.does else {
            return false;
        };
        let mut nodes = self.workflow.nodes.iter();
        let node = nodes.find(|node| node.id.text == id.text);
        node.is_some_and(nodes::condenses)
    }

    /// Returns the activity of a state, with its policy.
    fn works(&self, state: &State) -> Lowered {
        let workflow = self.workflow;
        match &state.does {
            Some(Does::Assistant(id)) => {
                let mut all = workflow.assistants.iter();
                match all.find(|one| one.id.text == id.text) {
                    Some(assistant) => agent::state(workflow, state, assistant),
                    None => Lowered::default(),
                }
            }
            Some(Does::Tool(id)) => {
                let mut all = workflow.tools.iter();
                match all.find(|one| one.id.text == id.text) {
                    Some(tool) => tools::state(state, tool, self.strict),
                    None => Lowered::default(),
                }
            }
            Some(Does::Node(id)) => {
                let mut all = workflow.nodes.iter();
                match all.find(|one| one.id.text == id.text) {
                    Some(node) => nodes::state(workflow, state, node, self.strict),
                    None => Lowered::default(),
                }
            }
            None => Lowered::default(),
        }
    }
}

/// Creates a state that runs something other than a model.
fn task(task: Task, policy: Policy, on_crash: OnCrash) -> Lowered {
    Lowered {
        activity: Activity::Task(task),
        policy,
        on_crash,
        ..Lowered::default()
    }
}

fn ending() -> Lowered {
    Lowered {
        activity: Activity::Final {
            outcome: Outcome::Success,
        },
        shown_as: Some(StateName::new(END)),
        ..Lowered::default()
    }
}
