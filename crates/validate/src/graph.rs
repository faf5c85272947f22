//! The states of a machine as a graph: what leads where.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use interlock_core::{
    machine::{Activity, Branch, Machine, State, Target, Transition},
    names::StateName,
};
use interlock_expr::nearest::nearest;

use crate::place::Place;

/// What leads where, by the position of the states in the machine.
pub(super) struct Graph<'m> {
    machine: &'m Machine,
    nodes: Vec<Node<'m>>,
    /// What names of states that do not exist were likely meant to be.
    near: BTreeMap<&'m StateName, (usize, &'m StateName)>,
}

/// Names that a near one is looked for; beyond that, all are wrong in some other way.
const NEAR_MAX: usize = 100;

/// One state.
pub(super) struct Node<'m> {
    pub(super) name: &'m StateName,
    pub(super) state: &'m State,
    pub(super) edges: Vec<Edge>,
    /// Whether a transition leads back from an interrupt.
    pub(super) returns: bool,
    /// Whether something leads to a state that does not exist.
    pub(super) leads_nowhere: bool,
    /// Whether a branch succeeds by entering it.
    pub(super) terminal: bool,
    /// Whether a transition leads out of the machine.
    pub(super) leads_out: bool,
}

/// One way from a state to another.
pub(super) struct Edge {
    pub(super) to: usize,
    /// Whether a person must say yes.
    pub(super) approval: bool,
    /// Whether it opens a branch, so that the state itself is not left.
    pub(super) branch: bool,
    /// Where its target is written.
    pub(super) place: Place,
}

/// A name of a state as it is looked up.
pub(super) enum Found<'m> {
    /// There is such a state.
    Here(usize),
    /// There is none, but one of nearly this name.
    Near(usize, &'m StateName),
    /// There is none.
    Nowhere,
}

impl<'m> Graph<'m> {
    pub(super) fn of(machine: &'m Machine) -> Self {
        let nodes = machine.states.iter().map(|(name, state)| Node {
            name,
            state,
            edges: Vec::new(),
            returns: false,
            leads_nowhere: false,
            terminal: false,
            leads_out: false,
        });
        let mut graph = Self {
            machine,
            nodes: nodes.collect(),
            near: near_names(machine),
        };
        for (at, (name, state)) in machine.states.iter().enumerate() {
            if !matches!(state.activity, Activity::Final { .. }) {
                graph.connect(at, name, state);
            }
        }
        graph
    }

    fn connect(&mut self, at: usize, name: &StateName, state: &State) {
        for (event, rule) in &state.on {
            for (index, transition) in rule.transitions.iter().enumerate() {
                let place = Place::Target(name.clone(), event.clone(), index);
                self.connect_transition(at, transition, place);
            }
        }
        if let Some(to) = &state.safe_next {
            self.add(at, to, false, Place::SafeNext(name.clone()));
        }
        for (branch, ends) in branches(state) {
            let place = Place::BranchInitial(name.clone(), branch.to_owned());
            self.add_branch(at, ends, place);
        }
    }

    fn connect_transition(&mut self, at: usize, transition: &Transition, place: Place) {
        match &transition.target {
            Target::State(to) => self.add(at, to, transition.approval.is_some(), place),
            Target::Return => self.mark(at, |node| node.returns = true),
            Target::End(_) => self.mark(at, |node| node.leads_out = true),
        }
    }

    fn add(&mut self, at: usize, to: &StateName, approval: bool, place: Place) {
        match self.find(to) {
            Found::Here(to) | Found::Near(to, _) => self.mark(at, |node| {
                node.edges.push(Edge {
                    to,
                    approval,
                    branch: false,
                    place,
                });
            }),
            Found::Nowhere => self.mark(at, |node| node.leads_nowhere = true),
        }
    }

    fn add_branch(&mut self, at: usize, ends: &Branch, place: Place) {
        if let Found::Here(to) | Found::Near(to, _) = self.find(&ends.initial) {
            self.mark(at, |node| {
                node.edges.push(Edge {
                    to,
                    approval: false,
                    branch: true,
                    place,
                });
            });
        }
        if let Found::Here(terminal) | Found::Near(terminal, _) = self.find(&ends.terminal) {
            self.mark(terminal, |node| node.terminal = true);
        }
    }

    fn mark(&mut self, at: usize, change: impl FnOnce(&mut Node<'m>)) {
        if let Some(node) = self.nodes.get_mut(at) {
            change(node);
        }
    }

    /// Looks a state up by its name.
    pub(super) fn find(&self, name: &StateName) -> Found<'m> {
        if let Some(at) = self.machine.states.get_index_of(name) {
            return Found::Here(at);
        }
        match self.near.get(name) {
            Some((at, near)) => Found::Near(*at, near),
            None => Found::Nowhere,
        }
    }

    /// Returns the position of the first state.
    pub(super) fn initial(&self) -> Option<usize> {
        match self.find(&self.machine.initial) {
            Found::Here(at) | Found::Near(at, _) => Some(at),
            Found::Nowhere => None,
        }
    }

    /// Returns the positions of the states that interrupts lead to.
    pub(super) fn handlers(&self) -> Vec<usize> {
        let targets = self.machine.interrupts.values().map(|known| &known.target);
        targets
            .filter_map(|target| match self.find(target) {
                Found::Here(at) | Found::Near(at, _) => Some(at),
                Found::Nowhere => None,
            })
            .collect()
    }

    pub(super) fn nodes(&self) -> &[Node<'m>] {
        &self.nodes
    }

    pub(super) fn node(&self, at: usize) -> Option<&Node<'m>> {
        self.nodes.get(at)
    }

    /// Returns which states can be reached from `starts` over the edges that `takes` lets pass.
    pub(super) fn reached(&self, starts: &[usize], takes: impl Fn(&Edge) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut open = starts.to_vec();
        while let Some(at) = open.pop() {
            if let Some(node) = self.visit(at, &mut reached) {
                let edges = node.edges.iter().filter(|edge| takes(edge));
                open.extend(edges.map(|edge| edge.to));
            }
        }
        reached
    }

    /// Returns whether a state for which `wanted` holds can be reached from `starts`.
    pub(super) fn leads_to(&self, starts: &[usize], wanted: impl Fn(&Node<'m>) -> bool) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut open: VecDeque<usize> = starts.iter().copied().collect();
        while let Some(at) = open.pop_front() {
            match self.visit(at, &mut reached) {
                Some(node) if wanted(node) => return true,
                Some(node) => open.extend(node.edges.iter().map(|edge| edge.to)),
                None => {}
            }
        }
        false
    }

    /// Returns a state that is seen for the first time.
    fn visit(&self, at: usize, reached: &mut [bool]) -> Option<&Node<'m>> {
        let seen = reached.get_mut(at).filter(|seen| !**seen)?;
        *seen = true;
        self.nodes.get(at)
    }
}

/// Finds for names of states that do not exist the ones that were likely meant.
fn near_names(machine: &Machine) -> BTreeMap<&StateName, (usize, &StateName)> {
    let states = &machine.states;
    let written = || {
        let written = states.iter().filter(|(_, state)| state.shown_as.is_none());
        written.map(|(name, _)| name.as_str())
    };
    let missing: BTreeSet<&StateName> = named_states(machine)
        .filter(|name| !states.contains_key(*name))
        .collect();
    let near = missing.into_iter().take(NEAR_MAX).filter_map(|name| {
        let near = nearest(name.as_str(), written())?;
        let (at, near, _) = states.get_full(near)?;
        Some((name, (at, near)))
    });
    near.collect()
}

/// Returns every name of a state that the machine uses.
fn named_states(machine: &Machine) -> impl Iterator<Item = &StateName> {
    let handlers = machine.interrupts.values().map(|known| &known.target);
    let states = machine.states.values().flat_map(|state| {
        let transitions = state.on.values().flat_map(|rule| &rule.transitions);
        let targets = transitions.filter_map(|transition| match &transition.target {
            Target::State(to) => Some(to),
            Target::Return | Target::End(_) => None,
        });
        let branches = branches(state).into_iter();
        let ends = branches.flat_map(|(_, ends)| [&ends.initial, &ends.terminal]);
        targets.chain(&state.safe_next).chain(ends)
    });
    std::iter::once(&machine.initial)
        .chain(handlers)
        .chain(states)
}

impl Node<'_> {
    /// Returns whether the machine ends here.
    pub(super) const fn is_final(&self) -> bool {
        matches!(self.state.activity, Activity::Final { .. })
    }

    /// Returns whether it was made for a fork or a call.
    pub(super) const fn is_generated(&self) -> bool {
        self.state.shown_as.is_some()
    }

    /// Returns whether an agent can call tools here.
    pub(super) const fn hosts_an_agent(&self) -> bool {
        matches!(self.state.activity, Activity::Await | Activity::Stage(_))
            && !self.is_generated()
            && !self.terminal
    }

    /// Returns the name that messages show.
    pub(super) fn shown(&self) -> &StateName {
        self.state.shown_as.as_ref().unwrap_or(self.name)
    }
}

/// Returns the branches of a composite state, by name.
pub(super) fn branches(state: &State) -> Vec<(&str, &Branch)> {
    let branches = state.activity.branches().into_iter().flatten();
    branches.map(|(name, ends)| (name.as_str(), ends)).collect()
}
