//! The view of a graph that a page requests: its opened and folded nodes.

use std::collections::BTreeSet;

use interlock_graph::View;
use serde::Deserialize;

use crate::reply::Problem;

/// Maximum number of names in a view.
const NAMES_MAX: usize = 1_000;

/// The opened, folded and grouped nodes of a graph, by key.
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
    /// Parses the view in a request; `None` gives the default view of the machine.
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
