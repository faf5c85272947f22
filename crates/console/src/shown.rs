//! How a page wants a graph shown: what is opened and what is folded.

use std::collections::BTreeSet;

use interlock_graph::View;
use serde::Deserialize;

use crate::reply::Problem;

/// Names that are read at most.
const NAMES_MAX: usize = 1_000;

/// What is opened and folded in a graph, by the keys of its nodes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    #[serde(default)]
    opened: BTreeSet<String>,
    #[serde(default)]
    folded: BTreeSet<String>,
    #[serde(default)]
    groups: Vec<BTreeSet<String>>,
}

impl Shown {
    /// Reads what the address of a request says; nothing: all is as the machine has it.
    pub(crate) fn of(text: Option<&str>) -> Result<Self, Problem> {
        match text {
            None => Ok(Self::default()),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| Problem::input(format!("`view` is not what is wanted: {error}"))),
        }
    }

    pub(crate) fn view(self) -> Result<View, Problem> {
        let groups: usize = self.groups.iter().map(BTreeSet::len).sum();
        if self.opened.len() + self.folded.len() + groups > NAMES_MAX {
            return Err(Problem::input(format!(
                "a graph is shown with at most {NAMES_MAX} names"
            )));
        }
        Ok(View {
            opened: self.opened,
            folded: self.folded,
            groups: self.groups,
        })
    }
}
