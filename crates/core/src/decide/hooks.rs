//! Hooks of activities into states and transitions.
//!
//! The modules beside this one handle states, transitions, interrupts, calls and regions. Whatever else a state does
//! (effects, attempts of model stages, conversations, limits) is called from here: before a state is entered, when it is
//! entered, when it has an output, and when it is left. [`super::failures`] is called when it fails.

use super::{Work, transitions::done};
use crate::{
    event::Cause,
    names::FramePath,
    refusal::{Code, Refusal},
};

impl Work<'_> {
    /// Ends a run that has reached its limit of entered states; tells whether it did.
    pub(super) fn before_entry(&mut self) -> Result<bool, Refusal> {
        let limit = self.machine.limits.states_max;
        let Some(limit) = limit.filter(|limit| self.run.entered >= *limit) else {
            return Ok(false);
        };
        let message = format!("the run entered {limit} states, which is its limit");
        self.end_uncaught(Cause::new(Code::LimitExceeded.as_str(), message))?;
        Ok(true)
    }

    /// Returns whether the state entered at `path` may not begin: its region has too many states, or a person is asked
    /// first.
    pub(super) fn on_enter(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        Ok(self.line_too_long(path)? || self.ask_before_entry(path)?)
    }

    /// Stores the output of the state at `path`, which succeeded, and continues from there.
    pub(super) fn on_output(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.keep_output(path)?;
        self.raise_own(path, &done(), None)
    }

    /// Cancels everything in progress at or below `path`, because its state is left.
    pub(super) fn on_leave(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.void_entry_requests(path);
        self.cancel_attempts(path)
    }
}
