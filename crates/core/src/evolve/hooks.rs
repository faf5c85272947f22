//! Where the events of a durable run change more than the chart.
//!
//! A guarded run keeps where it stands and what was used up. One that Interlock carries out itself also keeps
//! outputs and failures for the guards that read them, and how many states it has entered. Deciding has hooks
//! of its own, in `decide/hooks.rs`.

use std::sync::Arc;

use serde_json::Value;

use super::region_mut;
use crate::{
    event::{Cause, RegionOutcome},
    machine::Object,
    names::FramePath,
    run::Run,
};

/// Counts the entry of a state, in runs that are bounded by it.
pub(super) fn on_entry(run: &mut Run) {
    if run.is_durable() {
        run.entered += 1;
    }
}

/// Keeps why the activity at `path` failed; `None`: it ended well.
pub(super) fn on_output(run: &mut Run, path: &FramePath, error: Option<&Cause>) {
    if run.is_durable()
        && let Some(frame) = run.frame_mut(path)
    {
        frame.stay.failure = error.cloned().map(Cause::shortened);
    }
}

/// Drops the regions below one that has ended, unless it may go on where it failed.
pub(super) fn on_region_end(run: &mut Run, path: &FramePath, outcome: RegionOutcome) {
    let may_go_on = run.is_durable() && outcome != RegionOutcome::Succeeded;
    if !may_go_on && let Some(region) = region_mut(run, path) {
        region.frame.regions = Vec::new();
    }
}

/// Keeps what regions have brought together in the frame at `path`, and why they failed.
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
