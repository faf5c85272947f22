//! Protected files and settings that have changed since an open run of the project began.

use std::path::{Path, PathBuf};

use interlock_facts::{Baseline, RealDisk};
use interlock_store::{BASELINE, EventLog as _, Home, RunCard, RunSummary, StoreError};

use super::{Check, Examination, Health, environment};
use crate::session;

const WHAT: &str = "protected";

/// Reports each change, run by run, without changing anything.
pub(super) fn checks(examination: &Examination) -> Vec<Check> {
    let home = Home::at(&examination.state);
    let root = &examination.site.project_root;
    let real = root.canonicalize();
    let roots: Vec<&Path> = [Some(root), real.as_ref().ok()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let runs = match home.list_runs_in(&roots, |_| true) {
        Ok(runs) => runs,
        Err(error) => return vec![unreadable(&error)],
    };
    let ours = |run: &RunSummary| {
        let is_ours = |card: &RunCard| roots.contains(&card.project_root.as_path());
        let card = run.listed.card();
        card.is_some_and(|card| !card.is_over() && is_ours(card))
    };
    let open = runs.into_iter().filter(ours);
    open.flat_map(|run| {
        changes(examination, &home, &run).unwrap_or_else(|error| vec![unreadable(&error)])
    })
    .collect()
}

fn changes(
    examination: &Examination,
    home: &Home,
    run: &RunSummary,
) -> Result<Vec<Check>, StoreError> {
    let log = home.open_run(&run.id)?;
    // Before the first hook call there is nothing to compare with.
    let Some(baseline) = log.folder().baseline::<Baseline>(BASELINE)? else {
        return Ok(Vec::new());
    };
    let accepted = log.load()?.accepted;
    let environment = environment(examination);
    let root = &examination.site.project_root;
    let directory = root.display().to_string();
    let call_context =
        session::call_context(&environment, root, &directory, None).resolved(&RealDisk);
    let found = baseline.compare(&call_context, &accepted, &RealDisk, environment.at_ms);
    let check = |change: interlock_core::event::ProtectedChange| {
        Check::own(
            WHAT,
            Health::Warn,
            format!("{}, since run {} began", change.sentence(), run.id),
            format!(
                "restore it, or check it and run `interlock resume {}` to continue with it in its present form",
                run.id
            ),
        )
    };
    Ok(found.changes.into_iter().map(check).collect())
}

fn unreadable(error: &StoreError) -> Check {
    Check::own(
        WHAT,
        Health::Warn,
        format!("not known: {error}"),
        "see `interlock runs`: each call of a session whose run cannot be read is denied",
    )
}
