//! Folds an event into a run: the only way a run changes.

use crate::{event::Event, run::Run};

/// Returns `run` as it is after `event`. Total; knows no machine.
#[must_use]
pub fn evolve(run: Run, _event: &Event) -> Run {
    run
}
