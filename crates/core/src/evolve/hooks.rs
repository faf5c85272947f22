//! Hooks for the events of a durable run that change more than states and transitions.
//!
//! A guarded run stores its current states and their usage. A durable run also stores outputs and failures, for the
//! guards that read them, and the number of states it has entered. Deciding has its own hooks, in `decide/hooks.rs`.

use std::sync::Arc;

use serde_json::Value;

use super::region_mut;
use crate::{
    event::{Cause, RegionOutcome},
    machine::Object,
    names::FramePath,
    run::Run,
};

/// Counts the entry of a state, in runs with a limit on entries.
pub(super) fn on_entry(run: &mut Run) {
    if run.is_durable() {
        run.entered += 1;
    }
}

/// Stores why the activity at `path` failed; `None`: it succeeded.
pub(super) fn on_output(run: &mut Run, path: &FramePath, error: Option<&Cause>) {
    if run.is_durable()
        && let Some(frame) = run.frame_mut(path)
    {
        frame.stay.failure = error.cloned().map(Cause::shortened);
    }
}

/// Drops the regions below one that has ended, unless it can continue after its failure.
pub(super) fn on_region_end(run: &mut Run, path: &FramePath, outcome: RegionOutcome) {
    let may_go_on = run.is_durable() && outcome != RegionOutcome::Succeeded;
    if !may_go_on && let Some(region) = region_mut(run, path) {
        region.frame.regions = Vec::new();
    }
}

/// Stores the merged results of regions in the frame at `path`, and why regions failed.
pub(super) fn on_join(
    run: &mut Run,
    path: &FramePath,
    captured: Option<&Object>,
    output: &Value,
    cause: Option<&Cause>,
) {
    if run.is_durable()
        && let Some(frame) = run.frame_mut(path)
    {
        let keys = captured.into_iter().flat_map(Object::keys);
        frame.line.captured.extend(keys.cloned());
        frame.line.output = Arc::new(output.clone());
        frame.stay.failure = cause.cloned();
    }
}
