//! The cost of a placement.

/// The cost of a placement: refusals count first, then answers of a person, then transitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    pub(crate) refusals: u32,
    pub(crate) approvals: u32,
    pub(crate) events: u32,
    /// Number of calls after each transition, summed: of equal placements the later transition is preferred.
    pub(crate) early: u64,
}

impl Cost {
    pub(crate) const fn refused(self) -> Self {
        Self {
            refusals: self.refusals + 1,
            ..self
        }
    }

    /// Adds an answer of a person, followed by `left` calls.
    pub(crate) const fn approved(self, left: u64) -> Self {
        Self {
            approvals: self.approvals + 1,
            early: self.early + left,
            ..self
        }
    }

    /// Adds a transition, followed by `left` calls.
    pub(crate) const fn moved(self, left: u64) -> Self {
        Self {
            events: self.events + 1,
            early: self.early + left,
            ..self
        }
    }
}
