//! Builds the model of a machine.

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
    paths::Paths,
};

impl Model {
    pub(crate) fn new(machine: &Machine, slots: Vec<Predicate>, counted_to: u64) -> Self {
        Self::beside(machine, &[machine], slots, counted_to)
    }

    /// Makes the model of a machine that tells apart everything that the machines `written` tell apart: the same calls and
    /// data for each of them.
    pub(crate) fn beside(
        machine: &Machine,
        written: &[&Machine],
        slots: Vec<Predicate>,
        counted_to: u64,
    ) -> Self {
        let all = written.iter().flat_map(|one| machines(one));
        let has_regions = all.into_iter().any(|(_, machine)| {
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
        let all: Vec<&Guard> = written.iter().flat_map(|one| all_guards(one)).collect();
        let cells = Cells::of(machine, &all, has_regions);
        let atoms: Vec<&Predicate> = slots.iter().flat_map(Predicate::parts).collect();
        let patterns = classes::patterns(written, &atoms);
        let paths = Paths::of(&patterns, &classes::may_be_written);
        let (classes, mut missed) = classes::all(written, &atoms, &paths);
        missed.extend(cells.missed.iter().cloned());
        let asked = atoms
            .iter()
            .any(|atom| matches!(atom, Predicate::Writes(_)));
        let single = paths.single.into_iter().map(|path| vec![path]);
        let written = if evidence.is_empty() && patterns.is_empty() && !asked {
            Vec::new()
        } else {
            single.chain(paths.several).collect()
        };
        missed.extend(paths.missed);
        let mut model = Self {
            written,
            patterns,
            machine: machine.clone(),
            cells,
            classes,
            usable: BTreeMap::new(),
            evidence,
            alike: Vec::new(),
            standing: slots.iter().map(Predicate::stands).collect(),
            slots,
            reads_output,
            reads_reports: machine.evidence_guards().any(|one| one.report.is_some()),
            reads_substance: machine
                .evidence_guards()
                .any(|one| one.substance_shown().is_some()),
            counted_to,
            missed,
        };
        model.usable = classes::usable(&model);
        model.alike = alike::keys(&model);
        model
    }
}
