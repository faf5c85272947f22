//! The evidence that a machine requires.

use super::{Activity, Machine};
use crate::guard::{EvidenceGuard, Guard, GuardRef};

impl Machine {
    /// Returns every evidence guard of the machine and of those it calls.
    pub fn evidence_guards(&self) -> impl Iterator<Item = &EvidenceGuard> {
        std::iter::once(self)
            .chain(self.machines.values())
            .flat_map(|machine| {
                let named = machine.guards.values();
                let in_place = machine
                    .states
                    .values()
                    .flat_map(|state| state.on.values())
                    .flat_map(|rule| &rule.transitions)
                    .flat_map(|transition| &transition.guards)
                    .filter_map(in_place_of);
                let in_stages = machine
                    .states
                    .values()
                    .filter_map(|state| match &state.activity {
                        Activity::Stage(stage) => Some(stage),
                        _ => None,
                    })
                    .flat_map(|stage| {
                        let asserted = stage.assert.iter().map(|assertion| &assertion.guard);
                        stage.gate.iter().chain(asserted)
                    })
                    .filter_map(in_place_of);
                named.chain(in_place).chain(in_stages).flat_map(evidence_of)
            })
    }
}

fn in_place_of(guard: &GuardRef) -> Option<&Guard> {
    match guard {
        GuardRef::Named(_) => None,
        GuardRef::Inline(guard) => Some(guard),
    }
}

fn evidence_of(guard: &Guard) -> Vec<&EvidenceGuard> {
    let mut found = Vec::new();
    let mut pending = vec![guard];
    while let Some(guard) = pending.pop() {
        if let Guard::Evidence(evidence) = guard {
            found.push(evidence);
        }
        pending.extend(guard.items().iter().filter_map(in_place_of));
    }
    found
}
