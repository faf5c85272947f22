//! Locations on this machine in the form in which paths are compared, computed once per call.

use super::{
    files::join,
    folded,
    list::{bases, config_bases},
    table::FILES,
};
use crate::context::CallContext;

/// Locations of one person and one project, each folded.
#[derive(Debug)]
pub(super) struct FoldedPlaces {
    pub(super) project: String,
    pub(super) home: Option<String>,
    /// Interlock's state directory.
    pub(super) state: Option<String>,
    /// The person's configuration directory for Interlock.
    pub(super) config: Option<String>,
    /// Interlock's own programs.
    pub(super) programs: Vec<String>,
    /// Configuration directories.
    pub(super) config_bases: Vec<String>,
    /// Locations moved by a variable: the names of the row, and the new path.
    pub(super) moved: Vec<(String, String)>,
}

/// A protected path with a known location.
#[derive(Debug)]
pub(super) struct Anchor {
    pub(super) path: String,
    pub(super) folded: String,
}

impl FoldedPlaces {
    pub(super) fn of(context: &CallContext) -> Self {
        let maybe = |path: &Option<String>| path.as_deref().map(folded);
        let all = |paths: &[String]| paths.iter().map(|path| folded(path)).collect();
        let moved = context.moved.iter();
        Self {
            project: folded(&context.project_root),
            home: maybe(&context.home),
            state: maybe(&context.state_directory),
            config: maybe(&context.config_directory),
            programs: all(&context.programs),
            config_bases: all(&config_bases(context)),
            moved: moved
                .map(|(standard, actual)| ((*standard).clone(), folded(actual)))
                .collect(),
        }
    }
}

/// Lists every protected path with a known location, whether it exists or not.
pub(super) fn anchors(context: &CallContext) -> Vec<Anchor> {
    let rows = FILES.iter().flat_map(|row| {
        let bases = bases(row.under, context);
        bases.into_iter().map(|base| join(&base, row.names))
    });
    let moved = context.moved.iter().map(|(_, actual)| actual.clone());
    let own = [&context.state_directory, &context.config_directory];
    let own = own.into_iter().flatten().cloned();
    rows.chain(moved)
        .chain(own)
        .chain(context.programs.iter().cloned())
        .map(|path| Anchor {
            folded: folded(&path),
            path,
        })
        .collect()
}
