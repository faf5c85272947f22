//! What is asked about: the machine, and what of a run its rules can read.

use std::collections::BTreeMap;

use interlock_core::{
    glob::path_matches,
    guard::Since,
    machine::{Machine, State},
    names::{MachineId, StateName},
};
use interlock_formats::Predicate;

use crate::{
    calls::{Class, Usable},
    cells::Cells,
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
    /// Which of them are about where a run stands.
    pub(crate) standing: Vec<bool>,
    /// Every pattern of paths that is written anywhere.
    pub(crate) patterns: Vec<String>,
    /// Files that a program may be seen to write at once: one list for each set of patterns.
    pub(crate) written: Vec<Vec<String>>,
    pub(crate) reads_output: bool,
    /// Whether a guard reads a report of tests.
    pub(crate) reads_reports: bool,
    /// Whether a guard reads more of evidence than its exit code and its age.
    pub(crate) reads_substance: bool,
    /// Limits up to this one are counted out; of larger ones it is known whether they are used up.
    pub(crate) counted_to: u64,
    /// Why a behaviour may have been missed; with any of them nothing holds for certain.
    pub(crate) missed: Vec<String>,
}

impl Model {
    /// Returns for each predicate whether it is about where a run stands.
    pub(crate) fn at_states(&self) -> impl Iterator<Item = Option<&Predicate>> {
        let all = self.slots.iter().zip(&self.standing);
        all.map(|(slot, stands)| stands.then_some(slot))
    }

    /// Returns the state that a frame stands in.
    pub(crate) fn state(&self, machine: Option<&MachineId>, at: &StateName) -> Option<&State> {
        self.machine.called(machine)?.states.get(at)
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
