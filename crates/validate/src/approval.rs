//! Approvals that are promised.

use interlock_core::machine::Machine;
use serde_json::Value;

use crate::{Check, FindingCode, Place};

impl Check<'_, '_> {
    /// Warns where `meta` promises a person's approval and nothing asks for one.
    pub(super) fn approvals(&mut self) {
        let promised = self.machine.meta.get("requires_human_approval") == Some(&Value::Bool(true));
        // The outermost machine may leave the asking to one it calls.
        let called = self.machine.machines.values();
        let asked = std::iter::once(self.machine).chain(called).any(asks);
        if promised && !asked {
            self.warning(
                FindingCode::NoApproval,
                Place::Meta("requires_human_approval"),
                "`requires_human_approval` is true, but no transition requires an approval"
                    .to_owned(),
                "add `requires_approval: true` to the transition that a person should approve",
            );
        }
    }
}

fn asks(machine: &Machine) -> bool {
    let rules = machine.states.values().flat_map(|state| state.on.values());
    rules
        .flat_map(|rule| &rule.transitions)
        .any(|transition| transition.approval.is_some())
}
