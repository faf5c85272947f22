//! Loops that nothing bounds.

use interlock_core::{machine::Activity, names::StateName};

use crate::{Check, FindingCode, Place, circles::circles, graph::Node};

impl Check<'_, '_> {
    /// Warns of loops none of whose states has a bound on its calls.
    pub(super) fn loops(&mut self) {
        let bounded: Vec<bool> = (0..self.graph.nodes().len())
            .map(|at| self.is_bounded(at))
            .collect();
        let is_free = |at: usize| bounded.get(at) == Some(&false);
        let leads: Vec<Vec<usize>> = self
            .graph
            .nodes()
            .iter()
            .enumerate()
            .map(|(at, node)| {
                let edges = node.edges.iter().filter(|edge| is_free(at) && !edge.branch);
                edges
                    .map(|edge| edge.to)
                    .filter(|to| is_free(*to))
                    .collect()
            })
            .collect();
        for circle in circles(&leads) {
            let members = circle.iter().filter_map(|at| self.graph.node(*at));
            let mut shown: Vec<&StateName> = members.map(Node::shown).collect();
            shown.sort_by_key(|name| self.machine.states.get_index_of(*name));
            shown.dedup();
            self.warn_of_loop(&shown.into_iter().cloned().collect::<Vec<_>>());
        }
    }

    fn warn_of_loop(&mut self, members: &[StateName]) {
        let Some(first) = members.first() else { return };
        let message = match members {
            [only] => format!(
                "`{only}` leads to itself and has no `max_iterations`: nothing bounds the loop"
            ),
            _ => format!(
                "nothing bounds the loop of {}: none of them has `max_iterations`",
                listed(members)
            ),
        };
        self.warning(
            FindingCode::UnboundedLoop,
            Place::State(first.clone()),
            message,
            "add `max_iterations` to a state of the loop",
        );
    }

    /// Returns whether a loop through this state is bounded by it.
    ///
    /// A fork is bounded by a state of its branches, a call by one of the called machine.
    fn is_bounded(&self, at: usize) -> bool {
        let Some(node) = self.graph.node(at) else {
            return true;
        };
        match &node.state.activity {
            Activity::Call(call) => self.root.machines.get(&call.machine).is_some_and(|called| {
                let mut states = called.states.values();
                states.any(|state| state.policy.iterations_max.is_some())
            }),
            activity if activity.branches().is_some() => {
                let starts: Vec<usize> = node
                    .edges
                    .iter()
                    .filter(|edge| edge.branch)
                    .map(|edge| edge.to)
                    .collect();
                self.graph
                    .leads_to(&starts, |node| node.state.policy.iterations_max.is_some())
            }
            // Attempts of stages are bounded for the whole run.
            Activity::Final { .. } | Activity::Stage(_) => true,
            _ => node.state.policy.iterations_max.is_some(),
        }
    }
}

/// Names shown of a loop; of more, how many there are.
const SHOWN_MAX: usize = 12;

fn listed(members: &[StateName]) -> String {
    let shown = members.iter().take(SHOWN_MAX);
    let named: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
    let named = named.join(", ");
    match members.len().saturating_sub(SHOWN_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
