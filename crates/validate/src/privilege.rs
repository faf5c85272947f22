//! Power that grows without anybody being asked.

use interlock_core::{
    names::StateName,
    policy::{Policy, Stance},
};
use interlock_tool_names::{FETCHERS, SHELL, WRITERS};

use crate::{
    Check, FindingCode, Place,
    graph::{Edge, Node},
};

/// How much a state lets an agent do, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Reads,
    Edits,
    RunsAnything,
    Unrestricted,
}

impl Level {
    fn of(policy: &Policy) -> Self {
        if policy.stance() == Stance::Free {
            Self::Unrestricted
        } else if runs(policy) && policy.allowed_commands.is_none() {
            Self::RunsAnything
        } else if runs(policy) || writes(policy) {
            Self::Edits
        } else {
            Self::Reads
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Reads => "only reads",
            Self::Edits => "edits files or runs listed commands",
            Self::RunsAnything => "runs any command",
            Self::Unrestricted => "has no policy",
        }
    }
}

fn writes(policy: &Policy) -> bool {
    WRITERS.iter().any(|tool| policy.lets_pass(&[tool]))
}

fn runs(policy: &Policy) -> bool {
    let lists_none = policy.allowed_commands.as_ref().is_some_and(Vec::is_empty);
    policy.lets_pass(&[SHELL]) && !lists_none
}

/// Tells whether the state can reach the network, by a tool of its own or by any command.
fn reaches_network(policy: &Policy) -> bool {
    let by_tool = FETCHERS.iter().any(|tool| policy.lets_pass(&[tool]));
    by_tool || (runs(policy) && policy.allowed_commands.is_none())
}

impl Check<'_, '_> {
    /// Warns of states and of jumps that give an agent much without asking anybody.
    pub(super) fn privileges(&mut self) {
        self.powerful_states();
        self.jumps();
    }

    fn powerful_states(&mut self) {
        let mut starts = self.graph.handlers();
        starts.extend(self.graph.initial());
        let unasked = self.graph.reached(&starts, |edge| !edge.approval);
        let powerful = |node: &Node<'_>| {
            let policy = &node.state.policy;
            node.hosts_an_agent() && writes(policy) && runs(policy) && reaches_network(policy)
        };
        let nodes = self.graph.nodes().iter().zip(unasked);
        let found: Vec<StateName> = nodes
            .filter(|(node, unasked)| *unasked && powerful(node))
            .map(|(node, _)| node.name.clone())
            .collect();
        for name in found {
            self.warning(
                FindingCode::UnapprovedPower,
                Place::State(name.clone()),
                format!("`{name}` may write files, run commands and reach the network at once, with no approval before it"),
                "add `requires_approval: true` to what leads there, or narrow `allowed_tools` and `allowed_commands`",
            );
        }
    }

    fn jumps(&mut self) {
        let mut found: Vec<(Place, String)> = Vec::new();
        for node in self
            .graph
            .nodes()
            .iter()
            .filter(|node| node.hosts_an_agent())
        {
            let from = Level::of(&node.state.policy);
            for (edge, target) in self.ways(node) {
                let to = Level::of(&target.state.policy);
                if edge.approval || !target.hosts_an_agent() || (to as u8) < (from as u8) + 2 {
                    continue;
                }
                let message = format!(
                    "`{}` {} and `{}` {}: the way there needs no approval",
                    node.name,
                    from.words(),
                    target.name,
                    to.words()
                );
                found.push((edge.place.clone(), message));
            }
        }
        for (place, message) in found {
            self.warning(
                FindingCode::PrivilegeJump,
                place,
                message,
                "add `requires_approval: true`, or narrow what the state may do",
            );
        }
    }

    /// Returns what a state leads to, seen through forks and calls.
    fn ways<'c>(&'c self, node: &'c Node<'_>) -> Vec<(&'c Edge, &'c Node<'c>)> {
        let mut ways = Vec::new();
        for edge in &node.edges {
            let Some(target) = self.graph.node(edge.to) else {
                continue;
            };
            if !target.is_generated() {
                ways.push((edge, target));
                continue;
            }
            // Who approved the fork or the call approved what comes of it.
            for inner in target.edges.iter().filter(|_| !edge.approval) {
                ways.extend(self.graph.node(inner.to).map(|target| (inner, target)));
            }
        }
        ways
    }
}
