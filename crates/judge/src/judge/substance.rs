//! Decides whether a report can only come from the check itself.

use super::{
    JudgeContext,
    marks::{place_of, standing},
    proofs::Standing,
};
use crate::{
    call::{FileWrite, PathArea},
    glob::path_matches,
    guard::{EvidenceGuard, EvidenceOf},
    substance::ReportSource,
};

/// Returns whether nothing in the line but the check itself may write the report.
///
/// The line may also contain commands that are known to write nothing, or that write other files by name.
pub(super) fn is_alone(
    context: JudgeContext<'_>,
    guard: &EvidenceGuard,
    source: &ReportSource,
) -> bool {
    let facts = &context.call.facts;
    let (
        Some(line),
        EvidenceOf::Command {
            words, directory, ..
        },
    ) = (&facts.shell, &guard.of)
    else {
        return false;
    };
    let wanted = directory.as_deref().unwrap_or_default();
    let is_elsewhere = |write: &FileWrite| {
        write.place == PathArea::Scratch
            || !write.recursive
                && write
                    .relative
                    .as_deref()
                    .is_some_and(|path| !path_matches(&source.path, path))
    };
    line.unreadable.is_none()
        && facts.writes.iter().all(is_elsewhere)
        && line.commands.iter().enumerate().all(|(index, command)| {
            command.opaque.is_none()
                || standing(words, wanted, command, place_of(context, index)) == Standing::Whole
        })
}
