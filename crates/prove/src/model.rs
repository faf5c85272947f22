//! What is asked about: the machine, and what of a run its rules can read.

use std::collections::BTreeMap;

use interlock_core::{
    glob::path_matches,
    guard::{EvidenceOf, Guard, GuardRef, Since, Source, with_parts},
    machine::{Activity, Machine, Over, State},
    names::{MachineId, StateName},
};
use interlock_formats::Predicate;

use crate::{
    alike,
    cells::Cells,
    classes::{self, Class, Usable},
    paths,
};

/// Where a frame stands: the machine's key, and the state.
pub(crate) type Standing = (Option<MachineId>, StateName);

/// Everything that stays the same while runs are explored.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) machine: Machine,
    pub(crate) cells: Cells,
    pub(crate) classes: Vec<Class>,
    /// The calls that are worth trying in each state.
    pub(crate) usable: BTreeMap<Standing, Vec<Usable>>,
    /// How guards ask for each piece of evidence.
    pub(crate) evidence: BTreeMap<String, Vec<(i64, Since)>>,
    /// Keys of evidence that no rule tells apart.
    pub(crate) alike: Vec<Vec<String>>,
    /// What properties ask for, one bit each.
    pub(crate) slots: Vec<Predicate>,
    /// Every pattern of paths that is written anywhere.
    patterns: Vec<String>,
    /// Paths that a program may be seen to write.
    written: Vec<String>,
    pub(crate) reads_output: bool,
    /// Limits up to this one are counted out; of larger ones it is known whether they are used up.
    pub(crate) counted_to: u64,
    /// Why a behaviour may have been missed; with any of them nothing holds for certain.
    pub(crate) missed: Vec<String>,
}

/// Says what of a machine cannot be proved yet; `None`: everything can.
pub(crate) fn unsupported(machine: &Machine) -> Option<String> {
    if machine.durable {
        return Some(
            "it is a workflow of steps that Interlock carries out itself, which `prove` does not read yet"
                .to_owned(),
        );
    }
    for (_, machine) in machines(machine) {
        for (name, state) in &machine.states {
            let what = match &state.activity {
                Activity::Await | Activity::Final { .. } | Activity::Choice | Activity::Call(_) => {
                    None
                }
                Activity::Parallel(parallel) => match parallel.over {
                    Over::Branches(_) if parallel.concurrency.is_none() => None,
                    Over::Branches(_) => Some("branches that wait for their turn"),
                    Over::Items(_) | Over::Lines(_) => Some("items of a list"),
                },
                Activity::Task(_) => Some("a program"),
                Activity::Stage(_) => Some("a model stage"),
                Activity::Ask(_) => Some("a question"),
                Activity::Test(_) => Some("a comparison of texts"),
                Activity::Pause(_) => Some("a pause"),
                Activity::Wait { .. } => Some("a wait"),
            };
            if let Some(what) = what {
                return Some(format!(
                    "`{name}` is {what}, which `prove` does not read yet"
                ));
            }
            if state.approval_before.is_some() {
                return Some(format!(
                    "`{name}` asks a person before it begins, which `prove` does not read yet"
                ));
            }
            if let Activity::Call(call) = &state.activity
                && (!call.passed.is_empty() || call.namespace.is_some())
            {
                return Some(format!(
                    "`{name}` fills texts into a call, which `prove` does not read yet"
                ));
            }
        }
    }
    let other = all_guards(machine)
        .into_iter()
        .find_map(|guard| match guard {
            Guard::Expression(guard) => Some(format!("the expression `{}` is a guard", guard.text)),
            Guard::Output(_) | Guard::Code(_) | Guard::Uncancelled => {
                Some("a guard reads how an activity ended".to_owned())
            }
            _ => None,
        });
    other.map(|what| format!("{what}, which `prove` does not read yet"))
}

/// Returns the machine and all that it calls, each with its key.
pub(crate) fn machines(machine: &Machine) -> impl Iterator<Item = (Option<MachineId>, &Machine)> {
    let called = machine.machines.iter();
    std::iter::once((None, machine)).chain(called.map(|(key, one)| (Some(key.clone()), one)))
}

/// Returns every guard that is written anywhere.
pub(crate) fn all_guards(machine: &Machine) -> Vec<&Guard> {
    let mut found = Vec::new();
    for (_, machine) in machines(machine) {
        found.extend(machine.guards.values());
        let rules = machine.states.values().flat_map(|state| state.on.values());
        for transition in rules.flat_map(|rule| &rule.transitions) {
            let inline: Vec<&GuardRef> = transition
                .guards
                .iter()
                .filter(|guard| matches!(guard, GuardRef::Inline(_)))
                .collect();
            for guard in inline {
                found.extend(with_parts(&machine.guards, std::slice::from_ref(guard)));
            }
        }
        for guard in machine.guards.values() {
            found.extend(with_parts(&machine.guards, guard.items()));
        }
    }
    found
}

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
                let asked = evidence.entry(one.of.key()).or_default();
                if !asked.contains(&(wanted, one.since)) {
                    asked.push((wanted, one.since));
                }
            }
        }
        let reads_output = guards
            .iter()
            .any(|guard| matches!(guard, Guard::Field(field) if field.from == Source::Output));
        let cells = Cells::of(machine, &guards, has_regions);
        let (classes, mut missed) = classes::all(machine, &slots, &evidence);
        missed.extend(cells.missed.iter().cloned());
        let globs: Vec<String> = machines(machine)
            .flat_map(|(_, machine)| machine.interrupts.values())
            .map(|one| one.file_pattern.clone())
            .collect();
        let written = if evidence.is_empty() && globs.is_empty() {
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

    /// Returns the state that a frame stands in.
    pub(crate) fn state(&self, machine: Option<&MachineId>, at: &StateName) -> Option<&State> {
        self.machine.called(machine)?.states.get(at)
    }

    /// Returns paths that a program may be seen to write: one that matches nothing, and one for each set of interrupts.
    pub(crate) fn paths_written(&self) -> &[String] {
        &self.written
    }

    /// Names the class of a file that was written: the patterns that it matches.
    pub(crate) fn file_class(&self, file: &str) -> String {
        if let Some((class, _)) = file.rsplit_once(MORE) {
            return class.to_owned();
        }
        let Some(path) = file.strip_prefix("/project/") else {
            return "outside".to_owned();
        };
        let says = |pattern: &String| {
            if path_matches(pattern, path) {
                '1'
            } else {
                '0'
            }
        };
        self.patterns.iter().map(says).collect::<String>() + "-"
    }
}

/// Stands between the class and the number of a file that is only counted.
pub(crate) const MORE: &str = "#more#";
