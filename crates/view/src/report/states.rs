//! The states a run stands in, as a report shows them.

use interlock_core::{
    machine::Machine,
    place::{shown_path, standing},
    run::Run,
};
use serde::{Serialize, Serializer};

/// The paths of the open states, in the order written.
///
/// Serialises to a text when there is one, else to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePaths(pub Vec<String>);

impl Serialize for StatePaths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [only] => serializer.serialize_str(only),
            several => serializer.collect_seq(several),
        }
    }
}

impl std::fmt::Display for StatePaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Returns the paths of all states to show for `run`.
#[must_use]
pub fn state_paths(machine: &Machine, run: &Run) -> StatePaths {
    let leaves = standing(run);
    StatePaths(
        leaves
            .iter()
            .map(|leaf| shown_path(machine, run, leaf))
            .collect(),
    )
}
