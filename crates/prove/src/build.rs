//! How a model is made of a machine.

use std::collections::BTreeMap;

use interlock_core::{
    guard::{EvidenceOf, Guard, Since, Source},
    machine::{Activity, Machine, State},
};
use interlock_formats::Predicate;

use crate::{
    alike,
    cells::Cells,
    classes,
    machine::{all_guards, machines},
    model::Model,
    paths,
};

impl Model {
    pub(crate) fn new(machine: &Machine, slots: Vec<Predicate>, counted_to: u64) -> Self {
        let has_regions = machines(machine).any(|(_, machine)| {
            let mut states = machine.states.values();
            states.any(|state: &State| {
                matches!(state.activity, Activity::Parallel(_) | Activity::Call(_))
            })
        });
        let guards = all_guards(machine);
        let mut evidence: BTreeMap<String, Vec<(i64, Since)>> = BTreeMap::new();
        for guard in &guards {
            if let Guard::Evidence(one) = guard {
                let wanted = match &one.of {
                    EvidenceOf::Command { exit, .. } => *exit,
                    EvidenceOf::Tool { .. } => 0,
                };
                let asked = evidence.entry(one.key()).or_default();
                if !asked.contains(&(wanted, one.since)) {
                    asked.push((wanted, one.since));
                }
            }
        }
        let reads_output = guards
            .iter()
            .any(|guard| matches!(guard, Guard::Field(field) if field.from == Source::Output));
        let cells = Cells::of(machine, &guards, has_regions);
        let (classes, mut missed) = classes::all(machine, &slots);
        missed.extend(cells.missed.iter().cloned());
        let mut globs: Vec<String> = machines(machine)
            .flat_map(|(_, machine)| machine.interrupts.values())
            .map(|one| one.file_pattern.clone())
            .collect();
        let atoms = slots.iter().flat_map(Predicate::parts);
        globs.extend(atoms.filter_map(|atom| match atom {
            Predicate::Writes(glob) => glob.clone(),
            _ => None,
        }));
        globs.sort();
        globs.dedup();
        let asked = slots
            .iter()
            .flat_map(Predicate::parts)
            .any(|atom| matches!(atom, Predicate::Writes(_)));
        let written = if evidence.is_empty() && globs.is_empty() && !asked {
            Vec::new()
        } else {
            paths::witnesses(&globs).0
        };
        let mut model = Self {
            written,
            patterns: classes::patterns(
                machine,
                &slots.iter().flat_map(Predicate::parts).collect::<Vec<_>>(),
            ),
            machine: machine.clone(),
            cells,
            classes,
            usable: BTreeMap::new(),
            evidence,
            alike: Vec::new(),
            slots,
            reads_output,
            counted_to,
            missed,
        };
        model.usable = classes::usable(&model);
        model.alike = alike::keys(&model);
        model
    }
}
