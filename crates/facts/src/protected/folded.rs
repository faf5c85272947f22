//! Places of this machine in the form that paths are compared in, made once for a call.

use super::{
    files::join,
    folded,
    list::{bases, config_bases},
    table::FILES,
};
use crate::surroundings::Surroundings;

/// Places of one person and one project, each folded.
#[derive(Debug)]
pub(super) struct FoldedPlaces {
    pub(super) project: String,
    pub(super) home: Option<String>,
    /// Where Interlock's state lies.
    pub(super) state: Option<String>,
    /// Where the person's configuration of Interlock lies.
    pub(super) config: Option<String>,
    /// Interlock's own programs.
    pub(super) programs: Vec<String>,
    /// Directories of configuration.
    pub(super) config_bases: Vec<String>,
    /// What a variable moves: the names of the row, and where it leads.
    pub(super) moved: Vec<(String, String)>,
}

/// A protected path whose place is known.
#[derive(Debug)]
pub(super) struct Anchor {
    pub(super) path: String,
    pub(super) folded: String,
}

impl FoldedPlaces {
    pub(super) fn of(surroundings: &Surroundings) -> Self {
        let maybe = |path: &Option<String>| path.as_deref().map(folded);
        let all = |paths: &[String]| paths.iter().map(|path| folded(path)).collect();
        let moved = surroundings.moved.iter();
        Self {
            project: folded(&surroundings.project_root),
            home: maybe(&surroundings.home),
            state: maybe(&surroundings.state_directory),
            config: maybe(&surroundings.config_directory),
            programs: all(&surroundings.programs),
            config_bases: all(&config_bases(surroundings)),
            moved: moved
                .map(|(standard, actual)| ((*standard).clone(), folded(actual)))
                .collect(),
        }
    }
}

/// Lists every protected path whose place is known, there or not.
pub(super) fn anchors(surroundings: &Surroundings) -> Vec<Anchor> {
    let rows = FILES.iter().flat_map(|row| {
        let bases = bases(row.under, surroundings);
        bases.into_iter().map(|base| join(&base, row.names))
    });
    let moved = surroundings.moved.iter().map(|(_, actual)| actual.clone());
    let own = [
        &surroundings.state_directory,
        &surroundings.config_directory,
    ];
    let own = own.into_iter().flatten().cloned();
    rows.chain(moved)
        .chain(own)
        .chain(surroundings.programs.iter().cloned())
        .map(|path| Anchor {
            folded: folded(&path),
            path,
        })
        .collect()
}
