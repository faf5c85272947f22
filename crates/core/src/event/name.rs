//! The names of the events, as the log and the output lines have them.

use super::Event;

impl Event {
    /// Returns the name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "RunStarted",
            Self::CallAllowed { .. } => "CallAllowed",
            Self::CallDenied { .. } => "CallDenied",
            Self::GrantRequested { .. } => "GrantRequested",
            Self::GrantIssued { .. } => "GrantIssued",
            Self::GrantDenied { .. } => "GrantDenied",
            Self::GrantConsumed { .. } => "GrantConsumed",
            Self::CallEnded { .. } => "CallEnded",
            Self::LineConfined { .. } => "LineConfined",
            Self::LineEnded { .. } => "LineEnded",
            Self::AgentBound { .. } => "AgentBound",
            Self::AgentReleased { .. } => "AgentReleased",
            Self::TransitionTaken { .. } => "TransitionTaken",
            Self::TransitionRejected { .. } => "TransitionRejected",
            Self::ApprovalRequested { .. } => "ApprovalRequested",
            Self::ApprovalGranted { .. } => "ApprovalGranted",
            Self::ApprovalRejected { .. } => "ApprovalRejected",
            Self::ApprovalDropped { .. } => "ApprovalDropped",
            Self::InterruptRaised { .. } => "InterruptRaised",
            Self::InterruptQueued { .. } => "InterruptQueued",
            Self::InterruptDequeued { .. } => "InterruptDequeued",
            Self::ForkOpened { .. } => "ForkOpened",
            Self::BranchEnded { .. } => "BranchEnded",
            Self::ForkJoined { .. } => "ForkJoined",
            Self::MachineCalled { .. } => "MachineCalled",
            Self::MachineReturned { .. } => "MachineReturned",
            Self::BranchOpened { .. } => "BranchOpened",
            Self::BranchReopened { .. } => "BranchReopened",
            Self::ItemsListed { .. } => "ItemsListed",
            Self::ItemStarted { .. } => "ItemStarted",
            Self::ItemEnded { .. } => "ItemEnded",
            Self::ItemsEnded { .. } => "ItemsEnded",
            Self::EffectStarted { .. } => "EffectStarted",
            Self::AttemptFailed { .. } => "AttemptFailed",
            Self::EffectLost { .. } => "EffectLost",
            Self::EffectSettled { .. } => "EffectSettled",
            Self::ActivityEnded { .. } => "ActivityEnded",
            Self::VariablesSet { .. } => "VariablesSet",
            Self::MachineAdopted { .. } => "MachineAdopted",
            Self::RunReopened { .. } => "RunReopened",
            Self::ProtectedChanged { .. } => "ProtectedChanged",
            Self::ToolChanged(_) => "ToolChanged",
            Self::ToolAccepted { .. } => "ToolAccepted",
            Self::RunPaused { .. } => "RunPaused",
            Self::RunResumed { .. } => "RunResumed",
            Self::RunCancelled { .. } => "RunCancelled",
            Self::RunEnded { .. } => "RunEnded",
        }
    }
}
