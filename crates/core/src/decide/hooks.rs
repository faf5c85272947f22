//! Where the work of a run hooks into its chart.
//!
//! The chart knows states, transitions, interrupts, calls and regions. What a state does besides (effects that
//! are carried out, attempts of model stages, conversations, limits) hooks in here: before a state is entered,
//! when it is entered, when it has an output, and when it is left. [`super::failures`] hooks in where it fails.

use super::{Work, transitions::done};
use crate::{
    event::Cause,
    names::FramePath,
    refusal::{Code, Refusal},
};

impl Work<'_> {
    /// Ends a run that has entered as many states as it may; tells whether it did.
    pub(super) fn before_entry(&mut self) -> Result<bool, Refusal> {
        let limit = self.machine.limits.states_max;
        let Some(limit) = limit.filter(|limit| self.run.entered >= *limit) else {
            return Ok(false);
        };
        let message = format!("the run entered {limit} states, which is its limit");
        self.end_uncaught(Cause::new(Code::LimitExceeded.as_str(), message))?;
        Ok(true)
    }

    /// Tells whether what the frame at `path` has entered does not begin: its line is too long, or a person is asked first.
    pub(super) fn on_enter(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        Ok(self.line_too_long(path)? || self.ask_before_entry(path)?)
    }

    /// Keeps the output of the state at `path`, which has ended well, and goes on from there.
    pub(super) fn on_output(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.keep_output(path)?;
        self.raise_own(path, &done(), None)
    }

    /// Cuts off what is under way at or below `path`, since its state is left.
    pub(super) fn on_leave(&mut self, path: &FramePath) -> Result<(), Refusal> {
        self.void_entry_requests(path);
        self.cancel_attempts(path)
    }
}
