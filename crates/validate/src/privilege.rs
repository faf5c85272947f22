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
    const fn words(self) -> &'static str {
        match self {
            Self::Reads => "only reads",
            Self::Edits => "edits files or runs listed commands",
            Self::RunsAnything => "runs any command",
            Self::Unrestricted => "has no policy",
        }
    }
}

/// What a policy lets an agent do.
#[derive(Debug, Clone, Copy)]
struct Power {
    level: Level,
    /// It writes, runs commands and reaches the network.
    is_full: bool,
}

impl Power {
    fn of(policy: &Policy) -> Self {
        let passes = |tools: &[&str]| tools.iter().any(|tool| policy.lets_pass(&[tool]));
        let lists_no_command = policy.allowed_commands.as_ref().is_some_and(Vec::is_empty);
        let writes = passes(&WRITERS);
        let runs = passes(&[SHELL]) && !lists_no_command;
        let runs_anything = runs && policy.allowed_commands.is_none();
        let level = if policy.stance() == Stance::Free {
            Level::Unrestricted
        } else if runs_anything {
            Level::RunsAnything
        } else if runs || writes {
            Level::Edits
        } else {
            Level::Reads
        };
        Self {
            level,
            is_full: writes && runs && (runs_anything || passes(&FETCHERS)),
        }
    }
}

impl Check<'_, '_> {
    /// Warns of states and of jumps that give an agent much without asking anybody.
    pub(super) fn privileges(&mut self) {
        let nodes = self.graph.nodes().iter();
        let powers: Vec<Power> = nodes.map(|node| Power::of(&node.state.policy)).collect();
        self.powerful_states(&powers);
        self.jumps(&powers);
    }

    fn powerful_states(&mut self, powers: &[Power]) {
        let mut starts = self.graph.handlers();
        starts.extend(self.graph.initial());
        let unasked = self.graph.reached(&starts, |edge| !edge.approval);
        let nodes = self.graph.nodes().iter().zip(powers).zip(unasked);
        let found: Vec<StateName> = nodes
            .filter(|((node, power), unasked)| *unasked && power.is_full && node.hosts_an_agent())
            .map(|((node, _), _)| node.name.clone())
            .collect();
        for name in found {
            self.warning(
                FindingCode::UnapprovedPower,
                Place::State(name.clone()),
                format!("`{name}` may write files, run commands and reach the network at the same time, and no approval precedes it"),
                "add `requires_approval: true` to what leads there, or narrow `allowed_tools` and `allowed_commands`",
            );
        }
    }

    fn jumps(&mut self, powers: &[Power]) {
        let mut found: Vec<(Place, String)> = Vec::new();
        let nodes = self.graph.nodes().iter().zip(powers);
        for (node, from) in nodes.filter(|(node, _)| node.hosts_an_agent()) {
            let from = from.level;
            for (edge, target) in self.ways(node) {
                let Some(to) = powers.get(edge.to).map(|power| power.level) else {
                    continue;
                };
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
