//! Re-enters states: when a run is reopened, or when it moves to another version of its workflow.

use std::sync::Arc;

use super::activities::set_variables;
use crate::{
    machine::Object,
    run::{Frame, Phase, RegionEnd, Run},
};

/// Moves the run to another version of the workflow: every active frame re-enters its state.
pub(super) fn adopt(run: &mut Run, hash: &str, variables: &Object, at_ms: u64) {
    let seq = run.seq;
    run.adopted = Some(hash.to_owned());
    set_variables(&mut run.root, variables);
    enter_again(&mut run.root, seq, at_ms, false);
}

/// Reopens a run: every failed or active frame re-enters its state.
pub(super) fn reopen(run: &mut Run, at_ms: u64) {
    let seq = run.seq;
    run.phase = Phase::Open;
    enter_again(&mut run.root, seq, at_ms, true);
}

/// Re-enters the states of all active frames; branches that `failed` wait for their turn.
pub(super) fn enter_again(frame: &mut Frame, seq: u64, at_ms: u64, failed: bool) {
    for region in frame.regions.iter_mut().map(Arc::make_mut) {
        match region.ended {
            None => enter_again(&mut region.frame, seq, at_ms, failed),
            Some(RegionEnd::Failed(_) | RegionEnd::Cancelled) if failed => {
                region.ended = Some(RegionEnd::Waiting);
            }
            Some(_) => {}
        }
    }
    if frame.regions.is_empty() {
        frame.stay.entered_seq = seq;
        frame.stay.entered_ms = at_ms;
        frame.stay.take_effect();
        frame.stay.failure = None;
        frame.stay.request = None;
    }
}
