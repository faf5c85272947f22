//! What can be reached, and what can reach an end.

use interlock_core::{
    machine::Target,
    names::{EventName, StateName},
};

use crate::{
    Check, FindingCode, Place,
    graph::{Edge, Node, branches},
};

impl Check<'_, '_> {
    /// Reports states that nothing leads to, and states that lead to no end.
    pub(super) fn reach(&mut self) {
        let ends = |node: &Node<'_>| node.is_final() || node.leads_out;
        let has_end = self.graph.nodes().iter().any(ends);
        if !has_end {
            self.error(
                FindingCode::NoFinalState,
                Place::Machine,
                "no state is final, so a run could never end".to_owned(),
                "add a state with `type: final`, and a transition to it",
            );
        }
        let Some(initial) = self.graph.initial() else {
            return;
        };
        let mut starts = self.graph.handlers();
        starts.push(initial);
        let reached = self.graph.reached(&starts, |_| true);
        self.unreachable(&reached);
        if has_end {
            self.dead_ends(&reached);
        }
        self.branches_that_never_end();
    }

    fn unreachable(&mut self, reached: &[bool]) {
        let lost: Vec<StateName> = self
            .graph
            .nodes()
            .iter()
            .zip(reached)
            .filter(|(node, reached)| !**reached && !node.is_generated())
            .map(|(node, _)| node.name.clone())
            .collect();
        for name in lost {
            self.error(
                FindingCode::UnreachableState,
                Place::State(name.clone()),
                format!("nothing leads to `{name}`"),
                "add a transition to it, or remove it",
            );
        }
    }

    fn dead_ends(&mut self, reached: &[bool]) {
        let saved = self.leads_to_an_end();
        let stuck: Vec<StateName> = self
            .graph
            .nodes()
            .iter()
            .zip(reached.iter().zip(saved))
            .filter(|(node, (reached, saved))| **reached && !saved && !node.is_generated())
            .map(|(node, _)| node.name.clone())
            .collect();
        for name in stuck {
            self.error(
                FindingCode::DeadEnd,
                Place::State(name.clone()),
                format!("no final state can be reached from `{name}`"),
                "add a transition that leads on to a final state",
            );
        }
    }

    /// Returns for each state whether an end can be reached from it.
    fn leads_to_an_end(&self) -> Vec<bool> {
        let nodes = self.graph.nodes();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (from, node) in nodes.iter().enumerate() {
            for edge in node.edges.iter().filter(|edge| !edge.branch) {
                if let Some(list) = before.get_mut(edge.to) {
                    list.push(from);
                }
            }
        }
        let ends = |node: &Node<'_>| {
            let out = node.is_final() || node.leads_out || node.returns;
            out || node.terminal || node.leads_nowhere
        };
        let mut saved = vec![false; nodes.len()];
        let mut open: Vec<usize> = (0..nodes.len())
            .filter(|at| nodes.get(*at).is_some_and(ends))
            .collect();
        while let Some(at) = open.pop() {
            if let Some(seen) = saved.get_mut(at).filter(|seen| !**seen) {
                *seen = true;
                open.extend(before.get(at).into_iter().flatten());
            }
        }
        saved
    }

    /// Reports branches whose success cannot be reached from their start.
    fn branches_that_never_end(&mut self) {
        let machine = self.machine;
        for (name, state) in &machine.states {
            for (branch, ends) in branches(state) {
                let at = |wanted: &StateName| machine.states.get_index_of(wanted);
                let (Some(initial), Some(_)) = (at(&ends.initial), at(&ends.terminal)) else {
                    continue;
                };
                let may_end = |node: &Node<'_>| *node.name == ends.terminal || node.leads_nowhere;
                if self.graph.leads_to(&[initial], may_end) {
                    continue;
                }
                self.warning(
                    FindingCode::EndlessBranch,
                    Place::BranchTerminal(name.clone(), branch.to_owned()),
                    format!(
                        "the branch `{branch}` can never succeed: nothing leads from `{}` to `{}`",
                        ends.initial, ends.terminal
                    ),
                    "add the transitions that are missing, or name another `terminal`",
                );
            }
        }
    }

    /// Reports ways back in states that no interrupt leads to.
    pub(super) fn returns(&mut self) {
        let handlers = self.graph.handlers();
        let behind = self.graph.reached(&handlers, |edge: &Edge| !edge.branch);
        let mut lost: Vec<(Place, String)> = Vec::new();
        for (at, node) in self.graph.nodes().iter().enumerate() {
            if !node.returns || handlers.contains(&at) {
                continue;
            }
            let reason = if node.is_generated() {
                "a fork or an `invoke` leaves the handler"
            } else if behind.get(at) == Some(&true) {
                "a handler that is left by an ordinary transition can no longer return"
            } else {
                "no interrupt leads to it"
            };
            for (event, index) in ways_back(node.state) {
                let place = Place::Target(node.name.clone(), event, index);
                lost.push((place, format!("`$return` in `{}`: {reason}", node.shown())));
            }
        }
        for (place, message) in lost {
            self.error(
                FindingCode::NoReturn,
                place,
                message,
                "name a state; `$return` works in the `target` of an interrupt",
            );
        }
    }
}

/// Returns the transitions of a state that lead back from an interrupt.
fn ways_back(state: &interlock_core::machine::State) -> Vec<(EventName, usize)> {
    let rules = state.on.iter();
    rules
        .flat_map(|(event, rule)| {
            let transitions = rule.transitions.iter().enumerate();
            transitions
                .filter(|(_, transition)| transition.target == Target::Return)
                .map(|(index, _)| (event.clone(), index))
        })
        .collect()
}
