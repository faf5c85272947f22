//! The states of a machine as a graph: what leads where.

use crate::{
    machine::{Activity, Branch, Machine, State, Target, Transition},
    names::{EventName, StateName},
    nearest::nearest,
    validate::Place,
};

/// What leads where, by the position of the states in the machine.
pub(super) struct Graph<'m> {
    machine: &'m Machine,
    nodes: Vec<Node<'m>>,
}

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
        });
        let mut graph = Self {
            machine,
            nodes: nodes.collect(),
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
            // The machine ends, as it does in a final state.
            Target::End(_) => self.mark(at, |node| node.terminal = true),
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
        let states = &self.machine.states;
        if let Some(at) = states.get_index_of(name) {
            return Found::Here(at);
        }
        let written = states.iter().filter(|(_, state)| state.shown_as.is_none());
        let near = nearest(name.as_str(), written.map(|(name, _)| name.as_str()));
        match near.and_then(|near| states.get_full(near)) {
            Some((at, near, _)) => Found::Near(at, near),
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
            let Some(seen) = reached.get_mut(at).filter(|seen| !**seen) else {
                continue;
            };
            *seen = true;
            let edges = self.nodes.get(at).into_iter().flat_map(|node| &node.edges);
            open.extend(edges.filter(|edge| takes(edge)).map(|edge| edge.to));
        }
        reached
    }
}

impl Node<'_> {
    /// Tells whether the machine ends here.
    pub(super) const fn is_final(&self) -> bool {
        matches!(self.state.activity, Activity::Final { .. })
    }

    /// Tells whether it was made for a fork or a call.
    pub(super) const fn is_generated(&self) -> bool {
        self.state.shown_as.is_some()
    }

    /// Tells whether an agent can call tools here.
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
    match &state.activity {
        Activity::Fork(fork) => fork
            .branches
            .iter()
            .map(|(name, ends)| (name.as_str(), ends))
            .collect(),
        Activity::Map(map) => vec![("item", &map.branch)],
        _ => Vec::new(),
    }
}

/// Returns the groups of nodes that lead to each other in a circle, each in ascending order.
///
/// `leads` gives for every node what it leads to. Runs in linear time and
/// without recursion.
pub(super) fn circles(leads: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        leads,
        number: vec![usize::MAX; leads.len()],
        low: vec![usize::MAX; leads.len()],
        on_stack: vec![false; leads.len()],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for start in 0..leads.len() {
        search.from(start);
    }
    let alone = |group: &[usize]| match group {
        [only] => !leads.get(*only).is_some_and(|to| to.contains(only)),
        _ => false,
    };
    let mut found = search.found;
    found.retain(|group| !alone(group));
    found.sort();
    found
}

/// Tarjan's search for strongly connected parts.
struct Search<'l> {
    leads: &'l [Vec<usize>],
    number: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        // Each entry: a node, and how many of its ways were looked at.
        let mut open = vec![(start, 0)];
        if self.number.get(start) != Some(&usize::MAX) {
            return;
        }
        self.enter(start);
        while let Some((at, taken)) = open.pop() {
            match self.leads.get(at).and_then(|to| to.get(taken)).copied() {
                Some(to) => {
                    open.push((at, taken + 1));
                    if self.number.get(to) == Some(&usize::MAX) {
                        self.enter(to);
                        open.push((to, 0));
                    } else if self.on_stack.get(to) == Some(&true) {
                        self.lower(at, self.number.get(to).copied());
                    }
                }
                None => {
                    self.leave(at);
                    if let Some((before, _)) = open.last().copied() {
                        self.lower(before, self.low.get(at).copied());
                    }
                }
            }
        }
    }

    fn enter(&mut self, at: usize) {
        let number = self.next;
        self.next += 1;
        set(&mut self.number, at, number);
        set(&mut self.low, at, number);
        set(&mut self.on_stack, at, true);
        self.stack.push(at);
    }

    fn lower(&mut self, at: usize, to: Option<usize>) {
        if let (Some(low), Some(to)) = (self.low.get_mut(at), to) {
            *low = to.min(*low);
        }
    }

    /// Takes a finished group off the stack, when `at` is its first node.
    fn leave(&mut self, at: usize) {
        if self.low.get(at) != self.number.get(at) {
            return;
        }
        let begin = self
            .stack
            .iter()
            .rposition(|node| *node == at)
            .unwrap_or_default();
        let mut group = self.stack.split_off(begin);
        for node in &group {
            set(&mut self.on_stack, *node, false);
        }
        group.sort_unstable();
        self.found.push(group);
    }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

/// Writes the event of a composite state's success.
pub(super) fn own_event(event: &EventName) -> bool {
    matches!(event.as_str(), "done" | "error")
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn circles_are_found_whatever_hangs_on_them() {
        assert_eq!(
            circles(&[vec![1], vec![2], vec![]]),
            Vec::<Vec<usize>>::new()
        );
        assert_eq!(circles(&[vec![0], vec![]]), vec![vec![0]]);
        let two = [
            vec![1],
            vec![2, 3],
            vec![1],
            vec![4],
            vec![5],
            vec![3],
            vec![0],
        ];
        assert_eq!(circles(&two), vec![vec![1, 2], vec![3, 4, 5]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let mut chain: Vec<Vec<usize>> = (1..100_000).map(|next| vec![next]).collect();
        chain.push(vec![0]);
        assert_eq!(circles(&chain).len(), 1);
    }
}
