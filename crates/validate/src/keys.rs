//! Guards that read keys which nothing sets.

use std::collections::BTreeSet;

use interlock_core::{
    guard::{FieldGuard, Guard, GuardRef, Source},
    machine::{Activity, Call, Machine},
};

use crate::{
    Check, FindingCode, GuardRoot, GuardSite, Place,
    guards::{stage_guards, transition_guards},
};

impl Check<'_, '_> {
    /// Warns of guards that read a key no context, input or output holds.
    ///
    /// An agent may set any key with its data; a guard that depends on that
    /// alone depends on what the agent happens to say.
    pub(super) fn keys(&mut self) {
        let known = self.known_keys();
        let machine = self.machine;
        let mut unset: Vec<(GuardSite, String)> = Vec::new();
        let mut look = |field: &FieldGuard, site: &GuardSite| {
            let key = top_key(&field.field);
            if field.from == Source::Context && !known.contains(&key) {
                unset.push((site.clone(), key));
            }
        };
        for (name, guard) in &machine.guards {
            fields(guard, &GuardRoot::Named(name.clone()).whole(), &mut look);
        }
        for (at, guard) in transition_guards(machine) {
            fields_of_ref(guard, &at.site, &mut look);
        }
        for (site, guard) in stage_guards(machine) {
            fields_of_ref(guard, &site, &mut look);
        }
        for (site, key) in unset {
            self.warning(
                FindingCode::UnsetKey,
                Place::GuardField(site),
                format!("nothing in the workflow sets `{key}`"),
                "add it to `context` with its initial value, or `null` if that is not known yet",
            );
        }
    }

    /// Returns every top-level key the machine's context can have without an agent.
    fn known_keys(&self) -> BTreeSet<String> {
        let mut known: BTreeSet<String> = self.machine.context.keys().cloned().collect();
        let machines = std::iter::once(self.root).chain(self.root.machines.values());
        let inputs = machines
            .flat_map(calls)
            .filter(|call| Some(&call.machine) == self.key)
            .flat_map(|call| call.input.keys().cloned());
        known.extend(inputs);
        let mut open: Vec<&Machine> = vec![self.machine];
        let mut seen = Vec::new();
        while let Some(machine) = open.pop() {
            for call in calls(machine) {
                known.extend(call.output.iter().flatten().cloned());
                let Some(called) = self.root.machines.get(&call.machine) else {
                    continue;
                };
                if !seen.contains(&&call.machine) {
                    seen.push(&call.machine);
                    known.extend(called.context.keys().cloned());
                    open.push(called);
                }
            }
        }
        for state in self.machine.states.values() {
            if matches!(state.activity, Activity::Stage(_)) {
                known.extend(["upstream", "error"].map(str::to_owned));
            }
        }
        known
    }
}

fn calls(machine: &Machine) -> impl Iterator<Item = &Call> {
    machine
        .states
        .values()
        .filter_map(|state| match &state.activity {
            Activity::Call(call) => Some(call),
            _ => None,
        })
}

fn fields(guard: &Guard, site: &GuardSite, look: &mut impl FnMut(&FieldGuard, &GuardSite)) {
    if let Guard::Field(field) = guard {
        look(field, site);
    }
    for (index, item) in guard.items().iter().enumerate() {
        fields_of_ref(item, &site.item(index), look);
    }
}

fn fields_of_ref(
    guard: &GuardRef,
    site: &GuardSite,
    look: &mut impl FnMut(&FieldGuard, &GuardSite),
) {
    if let GuardRef::Inline(guard) = guard {
        fields(guard, site, look);
    }
}

/// Returns the top-level key that a field names.
fn top_key(field: &str) -> String {
    match field.strip_prefix('/') {
        None => field.to_owned(),
        Some(pointer) => {
            let first = pointer.split('/').next().unwrap_or_default();
            first.replace("~1", "/").replace("~0", "~")
        }
    }
}
