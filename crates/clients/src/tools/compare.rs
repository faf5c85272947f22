//! Compares what a workflow needs with what a client has.

use std::collections::BTreeMap;

use interlock_core::{
    guard::{EvidenceOf, Guard, GuardRef},
    machine::{Activity, Machine, State},
    names::GuardName,
};

use super::offer::{offered, offers};
use crate::client::ClientId;

/// Something that a workflow needs and a client lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    /// What is missing, as a sentence.
    pub what: String,
    /// What to do, as a sentence.
    pub instead: String,
}

/// Maximum depth to which guards are followed.
const DEPTH_MAX: usize = 32;

/// Finds what an agent in `client` could never use or reach in `machine`.
///
/// States without an agent and tools of MCP servers are not considered.
#[must_use]
pub fn lacks(client: ClientId, machine: &Machine) -> Vec<MissingTool> {
    let machines = std::iter::once(machine).chain(machine.machines.values());
    machines
        .flat_map(|machine| of_machine(client, machine))
        .collect()
}

fn of_machine(client: ClientId, machine: &Machine) -> Vec<MissingTool> {
    let name = client.title();
    let held = |state: &&State| state.activity == Activity::Await && !state.on.is_empty();
    let mut found: Vec<MissingTool> = machine
        .states
        .iter()
        .filter(|(_, state)| held(state) && has_nothing(client, state))
        .map(|(at, _)| MissingTool {
            what: format!("`{at}` lists nothing that {name} has"),
            instead: format!(
                "list one of its tools: {}; a shell without any tool that writes only reads",
                offered(client).join(", ")
            ),
        })
        .collect();
    let mut attainable = Attainable {
        client,
        machine,
        known: BTreeMap::new(),
    };
    let closed = machine
        .guards
        .keys()
        .filter(|name| !attainable.named(name, DEPTH_MAX));
    found.extend(closed.map(|guard| MissingTool {
        what: format!("guard `{guard}` can never hold in {name}: {}", why(client)),
        instead: "let a command or a tool that it has be evidence, too, with `any`".to_owned(),
    }));
    found
}

/// Returns whether a state lists tools, but none that the client has.
fn has_nothing(client: ClientId, state: &State) -> bool {
    let listed = state.policy.allowed_tools.as_deref().unwrap_or_default();
    !listed.is_empty() && !listed.iter().any(|rule| offers(client, rule))
}

/// Determines which guards can hold in a client, as far as evidence is concerned.
struct Attainable<'m> {
    client: ClientId,
    machine: &'m Machine,
    /// Results for named guards.
    known: BTreeMap<&'m GuardName, bool>,
}

impl<'m> Attainable<'m> {
    fn named(&mut self, name: &'m GuardName, depth: usize) -> bool {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let found = match (self.machine.guards.get(name), depth.checked_sub(1)) {
            (Some(guard), Some(depth)) => self.guard(guard, depth),
            _ => true,
        };
        self.known.insert(name, found);
        found
    }

    fn guard(&mut self, guard: &'m Guard, depth: usize) -> bool {
        let of = |item: &'m GuardRef| match item {
            GuardRef::Inline(guard) => depth
                .checked_sub(1)
                .is_none_or(|depth| self.guard(guard, depth)),
            GuardRef::Named(name) => self.named(name, depth),
        };
        match guard {
            Guard::All(items) => items.iter().all(of),
            Guard::Any(items) => items.iter().any(of),
            Guard::Evidence(evidence) => match &evidence.of {
                EvidenceOf::Tool { tool, .. } => offers(self.client, tool),
                EvidenceOf::Command { .. } => knows_exit_codes(self.client),
            },
            Guard::Field(_)
            | Guard::Not(_)
            | Guard::Output(_)
            | Guard::Code(_)
            | Guard::Uncancelled
            | Guard::Expression(_) => true,
        }
    }
}

/// Returns whether a client ever reports how a shell line ended, or allows it to be rewritten.
const fn knows_exit_codes(client: ClientId) -> bool {
    !matches!(client, ClientId::Cursor)
}

fn why(client: ClientId) -> &'static str {
    if knows_exit_codes(client) {
        "it has no such tool"
    } else {
        "it has no such tool, or does not say how commands end"
    }
}
