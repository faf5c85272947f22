//! Derives what must be done now from where a run is.

use crate::{command::Effect, machine::Machine, run::Run};

/// Returns the effects that should be running, in the order of the frames.
#[must_use]
pub fn effects(_machine: &Machine, _run: &Run) -> Vec<Effect> {
    Vec::new()
}
