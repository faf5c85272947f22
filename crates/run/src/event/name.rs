//! The names of the events in the log and in output.
//!
//! Requests to people and regions each share one set of events; their names also say which kind of request or region it is.

use super::{About, Event, RegionKind, RegionsStart, RequestKind, VoidReason};
use crate::machine::Outcome;

impl Event {
    /// Returns the name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "RunStarted",
            Self::CallAllowed { .. } => "CallAllowed",
            Self::CallDenied { .. } => "CallDenied",
            Self::RequestOpened { about, .. } => match about {
                About::Transition(_) => "ApprovalRequested",
                About::Entry { .. } => "PersonAsked",
                About::Call(_) => "GrantRequested",
            },
            Self::RequestAnswered { about, yes, .. } => match (about, yes) {
                (RequestKind::Transition, true) => "ApprovalGranted",
                (RequestKind::Transition, false) => "ApprovalRejected",
                (RequestKind::Entry, _) => "PersonAnswered",
                (RequestKind::Call, true) => "GrantIssued",
                (RequestKind::Call, false) => "GrantDenied",
            },
            Self::RequestVoided { why, .. } => match why {
                VoidReason::Refused(_) => "ApprovalDropped",
                VoidReason::Cancelled => "PersonDismissed",
                VoidReason::Prompt(_) => "PromptClosed",
                VoidReason::NoAnswer(_) => "GrantDenied",
            },
            Self::RequestUsed { .. } => "GrantConsumed",
            Self::CallEnded { .. } => "CallEnded",
            Self::LineConfined { .. } => "LineConfined",
            Self::LineEnded { .. } => "LineEnded",
            Self::AgentBound { .. } => "AgentBound",
            Self::AgentReleased { .. } => "AgentReleased",
            Self::FinishRefused { .. } => "FinishRefused",
            Self::TransitionTaken { .. } => "TransitionTaken",
            Self::TransitionRejected { .. } => "TransitionRejected",
            Self::InterruptRaised { .. } => "InterruptRaised",
            Self::InterruptQueued { .. } => "InterruptQueued",
            Self::InterruptDequeued { .. } => "InterruptDequeued",
            Self::RegionsStarted { start, .. } => match start {
                RegionsStart::Branches(_) => "ForkStarted",
                RegionsStart::Next(_) => "BranchOpened",
                RegionsStart::Split(_) => "LineSplit",
                RegionsStart::Items { .. } => "ItemsSpread",
                RegionsStart::Line { .. } => "ItemStarted",
            },
            Self::RegionReopened { .. } => "BranchReopened",
            Self::RegionWaits { .. } => "LineWaits",
            Self::RegionPassed { .. } => "ItemPassed",
            Self::RegionEnded { kind, .. } => match kind {
                RegionKind::Branch => "BranchEnded",
                RegionKind::Item | RegionKind::Line => "ItemEnded",
            },
            Self::Joined { lines, .. } => {
                if lines.is_empty() {
                    "Joined"
                } else {
                    "LinesMet"
                }
            }
            Self::Parted { .. } => "Parted",
            Self::MachineCalled { .. } => "MachineCalled",
            Self::MachineReturned { .. } => "MachineReturned",
            Self::ItemsListed { .. } => "ItemsListed",
            Self::EffectStarted { .. } => "EffectStarted",
            Self::AttemptFailed { .. } => "AttemptFailed",
            Self::EffectLost { .. } => "EffectLost",
            Self::EffectSettled { .. } => "EffectSettled",
            Self::ActivityEnded { .. } => "ActivityEnded",
            Self::VariablesSet { .. } => "VariablesSet",
            Self::MachineAdopted { .. } => "MachineAdopted",
            Self::RunReopened { .. } => "RunReopened",
            Self::FilesChanged { .. } => "FilesChanged",
            Self::FrozenCompared { .. } => "FrozenCompared",
            Self::ProjectAccepted { .. } => "ProjectAccepted",
            Self::ProtectedChanged { .. } => "ProtectedChanged",
            Self::TokenSeen { .. } => "TokenSeen",
            Self::ConsoleRefused { .. } => "ConsoleRefused",
            Self::ToolChanged(_) => "ToolChanged",
            Self::ToolAccepted { .. } => "ToolAccepted",
            Self::StageEntered { .. } => "StageEntered",
            Self::StageStarted { .. } => "StageStarted",
            Self::ModelCalled { .. } => "ModelCalled",
            Self::ModelResponded { .. } => "ModelResponded",
            Self::ModelFailed { .. } => "ModelFailed",
            Self::ToolAllowed { .. } => "ToolAllowed",
            Self::ToolDenied { .. } => "ToolDenied",
            Self::ToolStarted { .. } => "ToolStarted",
            Self::ToolEnded { .. } => "ToolEnded",
            Self::CompletionRejected { .. } => "CompletionRejected",
            Self::CompletionAccepted { .. } => "CompletionAccepted",
            Self::TurnEnded { .. } => "TurnEnded",
            Self::StageActed { .. } => "StageActed",
            Self::StageAsserted { .. } => "StageAsserted",
            Self::StageExited { .. } => "StageExited",
            Self::StageFailed { .. } => "StageFailed",
            Self::TransitionSelected { .. } => "TransitionSelected",
            Self::OutputKept { .. } => "OutputKept",
            Self::OutputChanged { .. } => "OutputChanged",
            Self::PersonSaid { .. } => "PersonSaid",
            Self::HistoryCondensed { .. } => "HistoryCondensed",
            Self::Noted { .. } => "Noted",
            Self::TrustDecided { .. } => "TrustDecided",
            Self::RunPaused { .. } => "RunPaused",
            Self::RunResumed { .. } => "RunResumed",
            Self::RunCancelled { .. } => "RunCancelled",
            Self::RunEnded {
                outcome: Outcome::Success,
                ..
            } => "RunCompleted",
            Self::RunEnded { .. } => "RunFailed",
        }
    }
}
