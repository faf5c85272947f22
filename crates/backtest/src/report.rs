//! The result of placing a session.

use indexmap::IndexMap;
use interlock_core::{
    command::{AGENT, Command, CommandKind, TransitionRequest},
    decide,
    event::Event,
    machine::Object,
    refusal::{Code, Refusal},
};
use interlock_prove::FreeAct;
use interlock_sessions::Session;

use crate::{
    align::{How, Path},
    calls::JudgedCall,
    follow::{performed, refusal},
    nodes::{Nodes, standing},
    options::Options,
    rules::Rules,
    verdict::Verdict,
};

/// A session as placed in a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Backtest {
    /// Every call with its place.
    pub placed: Vec<Placed>,
    /// Calls that are refused wherever the run may have been.
    pub everywhere: Vec<Refused>,
    /// Smallest number of refusals of any placement.
    pub fewest: u64,
    /// Required answers of a person.
    pub approvals: u64,
    /// Required transitions.
    pub transitions: u64,
    /// Where the run would have been stuck.
    pub stops: Vec<Stop>,
    /// How long it was in each state, in the order of entry.
    pub stays: Vec<Stay>,
    /// Whether the run could have ended after the last call without another refusal.
    pub can_end: bool,
    /// Calls that did not run when they were recorded; they count neither as allowed nor as refused.
    pub not_run: u64,
    /// Calls that could not be judged, by reason.
    pub not_judged: IndexMap<&'static str, u64>,
    /// Shell lines that succeeded with an unknown exit code.
    pub exits_unknown: u64,
    /// Whether the transitions are those of the recording.
    pub recorded: bool,
    /// Whether there were more states than were followed, so that fewer refusals may be possible.
    pub bounded: bool,
}

/// A placed call.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Index in the session.
    pub index: usize,
    /// Description of what is done before it.
    pub before: Vec<String>,
    /// Current states of the run.
    pub states: Vec<String>,
    /// Answer to the call.
    pub verdict: Verdict,
    /// Why it is refused, or why a person is asked.
    pub refusal: Option<Refusal>,
    /// Whether it ran when it was recorded.
    pub ran: bool,
}

impl Placed {
    /// Returns whether it ran when it was recorded and is refused now.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.ran && self.verdict == Verdict::Deny
    }
}

/// A call that is refused wherever the run may have been.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// Index in the session.
    pub index: usize,
    /// Reason in each state.
    pub because: Vec<(Vec<String>, Refusal)>,
}

/// A sequence of refused calls during which the run is stuck.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Index of the first one.
    pub first: usize,
    /// Index of the last one.
    pub last: usize,
    /// Current states of the run.
    pub states: Vec<String>,
    /// Why no existing transition can be taken.
    pub waits_for: Vec<String>,
}

/// Time that a run spent in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stay {
    /// The state.
    pub state: String,
    /// Number of calls in it.
    pub calls: u64,
    /// Milliseconds from each call in it to the next; `None` if the recording has no times.
    pub ms: Option<u64>,
}

/// Creates the result of a placement.
pub(crate) fn of(
    nodes: &mut Nodes,
    rules: &mut Rules,
    session: &Session,
    calls: &[JudgedCall],
    (path, options): (Path, Options),
) -> Backtest {
    let mut placed: Vec<Placed> = Vec::with_capacity(calls.len());
    let mut at_nodes: Vec<u32> = Vec::with_capacity(calls.len());
    let mut before = Vec::new();
    let mut here: Option<u32> = None;
    for step in &path.steps {
        match (step.how, here) {
            (How::Free(index), Some(from)) => {
                let free = nodes.free(from);
                if let Some(one) = free.get(index as usize) {
                    rules.taken(&one.taken);
                    before.push(match &*one.act {
                        FreeAct::Event { event, .. } => format!("`{event}`"),
                        FreeAct::Yes => "a person says yes".to_owned(),
                        FreeAct::No => "a person says no".to_owned(),
                    });
                }
            }
            (How::Call(index, verdict), Some(from)) => {
                if let Some(call) = calls.get(index as usize) {
                    let before = std::mem::take(&mut before);
                    placed.push(place(nodes, rules, (from, call, verdict), before, options));
                    at_nodes.push(from);
                }
            }
            _ => {}
        }
        here = Some(step.node);
        note_entered(nodes, rules, step.node);
    }
    let last = path.steps.last().map(|step| step.cost).unwrap_or_default();
    let mut not_judged = IndexMap::new();
    for call in calls {
        if let Err(why) = &call.made.call {
            *not_judged.entry(*why).or_default() += 1;
        }
    }
    let count = |matches: fn(&&JudgedCall) -> bool| count(calls.iter().filter(matches).count());
    Backtest {
        stops: stops(nodes, &placed, &at_nodes),
        stays: stays(session, &placed),
        everywhere: everywhere(nodes, &path, calls),
        placed,
        fewest: u64::from(last.refusals),
        approvals: u64::from(last.approvals),
        transitions: u64::from(last.events),
        can_end: path.can_end,
        not_run: count(|call| !call.ran),
        not_judged,
        exits_unknown: count(|call| call.ran && call.exit_unknown),
        recorded: path.recorded,
        bounded: path.bounded,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn note_entered(nodes: &Nodes, rules: &mut Rules, node: u32) {
    let states = nodes.get(node).map(|node| standing(&node.run));
    for state in states.into_iter().flatten() {
        rules.entered(&state);
    }
}

fn place(
    nodes: &mut Nodes,
    rules: &mut Rules,
    (from, call, verdict): (u32, &JudgedCall, Verdict),
    before: Vec<String>,
    options: Options,
) -> Placed {
    let states = nodes.get(from).map(|node| standing(&node.run));
    let refusal = match verdict {
        Verdict::Deny | Verdict::Ask => refusal(nodes, from, call),
        Verdict::Allow | Verdict::NotJudged => None,
    };
    let moves = call.made.writes() && nodes.interrupts || call.made.asks.is_some();
    if verdict == Verdict::Allow && moves {
        note_raised(nodes, rules, from, call, options);
    }
    Placed {
        index: call.index,
        before,
        states: states.unwrap_or_default(),
        verdict,
        refusal,
        ran: call.ran,
    }
}

fn note_raised(nodes: &Nodes, rules: &mut Rules, from: u32, call: &JudgedCall, options: Options) {
    let events = performed(nodes, from, call, options).map(|(_, events)| events);
    for event in events.iter().flatten() {
        match event {
            Event::InterruptRaised { interrupt, .. } => rules.raised(interrupt.as_str()),
            Event::TransitionTaken { event, from, .. } => {
                rules.taken(&[(from.to_string(), event.to_string(), 0)]);
            }
            _ => {}
        }
    }
}

fn everywhere(nodes: &Nodes, path: &Path, calls: &[JudgedCall]) -> Vec<Refused> {
    let one = |(index, at): &(usize, Vec<u32>)| {
        let call = calls.get(*index);
        let because = at.iter().filter_map(|node| {
            let refusal = refusal(nodes, *node, call?)?;
            // If the run was over before, the call only shows that it was not yet.
            let states = nodes.get(*node).map(|node| standing(&node.run))?;
            (refusal.code != Code::RunOver).then_some((states, refusal))
        });
        let mut because: Vec<_> = because.collect();
        because.dedup();
        Refused {
            index: *index,
            because,
        }
    };
    path.everywhere.iter().map(one).collect()
}

fn stops(nodes: &Nodes, placed: &[Placed], at_nodes: &[u32]) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    let mut goes_on = false;
    for (one, node) in placed.iter().zip(at_nodes) {
        if !one.ran {
            continue;
        }
        if !one.is_refused() {
            goes_on = false;
            continue;
        }
        match stops
            .last_mut()
            .filter(|stop| goes_on && stop.states == one.states)
        {
            Some(stop) => stop.last = one.index,
            None => stops.push(Stop {
                first: one.index,
                last: one.index,
                states: one.states.clone(),
                waits_for: waits_for(nodes, *node),
            }),
        }
        goes_on = true;
    }
    stops
}

/// Describes why no transition of the current states can be taken.
fn waits_for(nodes: &Nodes, node: u32) -> Vec<String> {
    let Some(run) = nodes.get(node).map(|node| &node.run) else {
        return Vec::new();
    };
    let machine = nodes.machine();
    let mut said: Vec<String> = Vec::new();
    for path in run.open_leaves() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        let state = machine
            .called(frame.machine.as_ref())
            .and_then(|machine| machine.states.get(&frame.at));
        for event in state.into_iter().flat_map(|state| state.on.keys()) {
            let command = CommandKind::Transition(TransitionRequest {
                event: event.to_string(),
                data: Object::new(),
                branch: (!path.is_root()).then(|| path.to_string()),
                agent: None,
                by: AGENT.to_owned(),
                approved_by: None,
            });
            let decision = decide(
                machine,
                run,
                &Command {
                    at_ms: 0,
                    kind: command,
                },
            );
            if let interlock_core::Reply::Refused(refusal) = decision.reply
                && matches!(refusal.code, Code::GuardFailed | Code::NoBranchMatched)
                && !said.contains(&refusal.message)
            {
                said.push(refusal.message);
            }
        }
    }
    said
}

fn stays(session: &Session, placed: &[Placed]) -> Vec<Stay> {
    let mut all: IndexMap<String, (u64, Option<u64>)> = IndexMap::new();
    let time = |at: usize| {
        placed
            .get(at)
            .and_then(|one| session.calls.get(one.index)?.at_ms)
    };
    for (at, one) in placed.iter().enumerate() {
        let until = time(at + 1).or_else(|| time(at));
        let ms = until
            .zip(time(at))
            .map(|(until, from)| until.saturating_sub(from));
        for state in &one.states {
            let stay = all.entry(state.clone()).or_insert((0, Some(0)));
            stay.0 += 1;
            stay.1 = stay.1.zip(ms).map(|(sum, more)| sum + more);
        }
    }
    let stays = all
        .into_iter()
        .map(|(state, (calls, ms))| Stay { state, calls, ms });
    stays.collect()
}
