//! Finds the placement of a session that refuses the fewest calls: a shortest path over calls and states.

use std::{collections::VecDeque, rc::Rc};

use interlock_core::refusal::Code;
use interlock_prove::{FreeAct, Map, Set};

use crate::{
    calls::JudgedCall,
    cost::Cost,
    follow::{after, told},
    nodes::{Free, Node, Nodes, short, standing},
    options::Options,
    rules::Rules,
    told::{ClassAnswer, Room},
    verdict::Verdict,
};

/// A step of a placement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) node: u32,
    pub(crate) cost: Cost,
    from: Option<u32>,
    pub(crate) how: How,
    /// Whether no other step of its layer permits at least as much at a lower cost.
    live: bool,
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Start,
    /// A step without a call, by its index at the node before.
    Free(u32),
    /// The call with this index.
    Call(u32, Verdict),
}

/// A placement.
#[derive(Debug)]
pub(crate) struct Path {
    /// Steps from the start on.
    pub(crate) steps: Vec<Step>,
    /// Calls that are refused at every possible node, with one node for each answer.
    pub(crate) everywhere: Vec<(usize, Vec<u32>)>,
    /// Whether the run could have ended after the last call, without another refusal.
    pub(crate) can_end: bool,
    /// Whether there were more states than are followed.
    pub(crate) bounded: bool,
    /// Whether the recording contains the requested transitions.
    pub(crate) recorded: bool,
}

/// Steps that lead to where a session may be after a call, by place.
type Front = Map<u32, Vec<u32>>;

struct Aligner<'a> {
    nodes: &'a mut Nodes,
    rules: &'a mut Rules,
    options: Options,
    steps: Vec<Step>,
    bounded: bool,
    recorded: bool,
    /// Number of calls still to come.
    left: u64,
    /// Refusals that are noted, by what determines the answer.
    refused: Set<(u32, Code)>,
}

/// Finds the cheapest placement of `calls`.
pub(crate) fn align(
    nodes: &mut Nodes,
    rules: &mut Rules,
    calls: &[JudgedCall],
    options: Options,
) -> Path {
    let recorded = calls.iter().any(|call| call.made.asks.is_some());
    let mut aligner = Aligner {
        nodes,
        rules,
        options,
        steps: Vec::new(),
        bounded: false,
        recorded,
        left: u64::try_from(calls.len()).unwrap_or(u64::MAX),
        refused: Set::default(),
    };
    let mut front = Front::default();
    if let Some(node) = aligner.nodes.start() {
        aligner.admit(&mut front, node, Cost::default(), None, How::Start);
    }
    let mut everywhere = Vec::new();
    for call in calls {
        aligner.close(&mut front);
        let (next, refused) = aligner.call(&front, call);
        if let Some(refused) = refused {
            everywhere.push((call.index, refused));
        }
        front = next;
        aligner.left = aligner.left.saturating_sub(1);
    }
    let best = aligner.best(&front, |_| true);
    aligner.close(&mut front);
    let ended = aligner.best(&front, Node::is_over);
    let refusals = |step: Option<u32>| aligner.step(step?).map(|step| step.cost.refusals);
    let can_end = ended.is_some() && refusals(ended) == refusals(best);
    let steps = aligner.path(best);
    Path {
        steps,
        everywhere,
        can_end,
        bounded: aligner.bounded,
        recorded,
    }
}

impl Aligner<'_> {
    fn step(&self, number: u32) -> Option<&Step> {
        self.steps.get(number as usize)
    }

    /// Keeps a step, unless another leads to the same place, has used no more and costs no more.
    fn admit(
        &mut self,
        front: &mut Front,
        node: u32,
        cost: Cost,
        from: Option<u32>,
        how: How,
    ) -> Option<u32> {
        let at = self.nodes.get(node)?;
        let here = front.entry(at.place).or_default();
        for known in here.iter() {
            let step = self.steps.get(*known as usize)?;
            if step.cost <= cost && self.nodes.permits(self.nodes.get(step.node)?, at) {
                return None;
            }
        }
        let (steps, nodes) = (&mut self.steps, &self.nodes);
        here.retain(|known| {
            let Some(step) = steps.get_mut(*known as usize) else {
                return false;
            };
            let other = nodes.get(step.node);
            let gone = cost <= step.cost && other.is_some_and(|other| nodes.permits(at, other));
            step.live = !gone;
            !gone
        });
        let number = short(steps.len());
        steps.push(Step {
            node,
            cost,
            from,
            how,
            live: true,
        });
        here.push(number);
        Some(number)
    }

    /// Adds everything that may be done without a call.
    fn close(&mut self, front: &mut Front) {
        let mut waiting: VecDeque<u32> = front.values().flatten().copied().collect();
        let mut done: Map<u32, (Cost, Rc<Vec<Free>>)> = Map::default();
        while let Some(number) = waiting.pop_front() {
            let Some(step) = self.step(number).copied().filter(|step| step.live) else {
                continue;
            };
            let free = self.nodes.free(step.node);
            let place = self.nodes.get(step.node).map(|node| node.place);
            let Some(place) = place else { continue };
            // Where a step of the same place that costs no more leads to the same nodes, this one adds nothing.
            match done.get_mut(&place) {
                Some((cost, known)) if Rc::ptr_eq(known, &free) => {
                    if *cost <= step.cost {
                        continue;
                    }
                    *cost = step.cost;
                }
                _ => {
                    done.insert(place, (step.cost, Rc::clone(&free)));
                }
            }
            for (index, one) in free.iter().enumerate() {
                let cost = match &*one.act {
                    FreeAct::Event { .. } if self.recorded => continue,
                    FreeAct::Event { .. } => step.cost.moved(self.left),
                    FreeAct::Yes => step.cost.approved(self.left),
                    // A rejection is an answer, too, and leaves the run unchanged.
                    FreeAct::No => step.cost.approved(self.left),
                };
                let how = How::Free(short(index));
                waiting.extend(self.admit(front, one.to, cost, Some(number), how));
            }
        }
        self.bound(front);
    }

    /// Drops the costliest steps if there are too many.
    fn bound(&mut self, front: &mut Front) {
        let count: usize = front.values().map(Vec::len).sum();
        if count <= self.options.states_max {
            return;
        }
        self.bounded = true;
        let mut all: Vec<(Cost, u32)> = front
            .values()
            .flatten()
            .filter_map(|number| Some((self.step(*number)?.cost, *number)))
            .collect();
        all.sort_unstable();
        front.clear();
        for (_, number) in all.into_iter().take(self.options.states_max) {
            if let Some(node) = self.step(number).and_then(|step| self.nodes.get(step.node)) {
                front.entry(node.place).or_default().push(number);
            }
        }
    }

    /// Makes a call at every possible node; the second value lists the nodes if none of them allows it.
    fn call(&mut self, front: &Front, call: &JudgedCall) -> (Front, Option<Vec<u32>>) {
        let mut said: Vec<(u32, Room, u32, Rc<ClassAnswer>)> = Vec::new();
        let mut next = Front::default();
        let mut passes = false;
        for number in front.values().flatten().copied() {
            let Some(step) = self.step(number).copied() else {
                continue;
            };
            let Some(node) = self.nodes.get(step.node) else {
                continue;
            };
            let (judged, is_over) = (node.judged, node.is_over());
            let room = self.nodes.room(step.node, &call.made);
            let known = said.iter().find(|one| (one.0, one.1) == (judged, room));
            let told = match known {
                Some((.., told)) => Rc::clone(told),
                None => {
                    let told = told(self.nodes, step.node, room, call, self.options);
                    if let Some(code) = told.code {
                        self.note_refusal(step.node, code);
                    }
                    said.push((judged, room, step.node, Rc::clone(&told)));
                    told
                }
            };
            let unguarded = self.recorded && is_over;
            let passed = matches!(
                told.verdict,
                Verdict::Allow | Verdict::Ask | Verdict::NotJudged
            );
            passes |= passed || unguarded;
            let how = How::Call(short(call.index), told.verdict);
            let (to, cost) = match told.verdict {
                // Its effects are unknown, it did not run, or the run no longer guards anything.
                _ if unguarded || !call.ran => (step.node, step.cost),
                Verdict::NotJudged => (step.node, step.cost),
                Verdict::Deny => (step.node, step.cost.refused()),
                Verdict::Allow => {
                    let to = after(self.nodes, step.node, call, &told, self.options);
                    (to, step.cost)
                }
                Verdict::Ask => {
                    let to = after(self.nodes, step.node, call, &told, self.options);
                    (to, step.cost.approved(self.left))
                }
            };
            self.admit(&mut next, to, cost, Some(number), how);
        }
        let refused = (!passes && call.ran).then(|| {
            said.sort_unstable_by_key(|(judged, _, node, _)| (*judged, *node));
            said.into_iter().map(|(_, _, node, _)| node).collect()
        });
        (next, refused)
    }

    /// Notes that a rule of a node's states refuses a call, or has a person asked.
    fn note_refusal(&mut self, node: u32, code: Code) {
        let Some(node) = self.nodes.get(node) else {
            return;
        };
        // Most calls are refused as others were before.
        if self.refused.insert((node.judged, code)) {
            self.rules.refused(&standing(&node.run), code);
        }
    }

    /// Returns the cheapest of the steps that `fits` accepts.
    fn best(&self, front: &Front, fits: impl Fn(&Node) -> bool) -> Option<u32> {
        let all = front.values().flatten().copied();
        let fitting = all.filter(|number| {
            let step = self.step(*number);
            step.and_then(|step| self.nodes.get(step.node))
                .is_some_and(&fits)
        });
        fitting.min_by_key(|number| (self.step(*number).map(|step| step.cost), *number))
    }

    /// Returns the steps that lead to one.
    fn path(&self, last: Option<u32>) -> Vec<Step> {
        let mut path = Vec::new();
        let mut at = last;
        while let Some(step) = at.and_then(|number| self.step(number)) {
            path.push(*step);
            at = step.from;
        }
        path.reverse();
        path
    }
}
