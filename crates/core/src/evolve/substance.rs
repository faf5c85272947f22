//! Evidence from reports: which reports count, and which one later reports are compared with.

use std::collections::btree_map::Entry;

use crate::{
    event::EvidenceMark,
    parts::CallMarks,
    run::{OpenCall, Run},
    substance::{Checked, ReportBaseline, ReportProblem, ReportRead},
};

/// Marks the open calls whose reports a new call with `marks` may write.
///
/// Returns whether an open call may write a report of the new call.
pub(super) fn overlaps(run: &mut Run, marks: &CallMarks) -> bool {
    if !may_write(marks) {
        return false;
    }
    let mut overlapped = false;
    for other in run.calls.iter_mut() {
        if other.is_open() && may_write(&other.marks) {
            overlapped = true;
            other.overlapped |= reports(&other.marks);
        }
    }
    overlapped && reports(marks)
}

/// Does the same for the call at `index`, which begins to run only now.
pub(super) fn begins_late(run: &mut Run, index: usize) {
    let Some(call) = run.calls.remove(index) else {
        return;
    };
    let overlapped = overlaps(run, &call.marks);
    run.calls.insert(
        index,
        OpenCall {
            overlapped: call.overlapped || overlapped,
            ..call
        },
    );
}

/// Returns whether a call may write a file; a shell line always may.
fn may_write(marks: &CallMarks) -> bool {
    marks.shell || marks.writes
}

fn reports(marks: &CallMarks) -> bool {
    marks.evidence.iter().any(|mark| mark.report.is_some())
}

/// Returns the report of `mark` as far as it belongs to the call.
pub(super) fn report(
    call: &OpenCall,
    mark: &EvidenceMark,
    checked: Option<&Checked>,
) -> Option<ReportRead> {
    let wanted = mark.report.as_ref()?;
    let read = checked?.report(&wanted.source)?.clone();
    Some(match read {
        ReportRead::Tests(_) if !wanted.alone => ReportRead::problem(ReportProblem::NotAlone),
        ReportRead::Tests(_) if call.overlapped => ReportRead::problem(ReportProblem::Overlapped),
        read => read,
    })
}

/// Stores a report as the baseline for later ones, if nothing was written before it.
///
/// Of several reports without a write between them, the one with the most tests counts, because the others may have been
/// cut short.
pub(super) fn take_baseline(run: &mut Run, key: &str, begun_seq: u64, read: &ReportRead) {
    let ReportRead::Tests(tests) = read else {
        return;
    };
    if !run.takes_baseline() || Some(begun_seq) <= run.approved {
        return;
    }
    let new = ReportBaseline {
        digest: tests.digest.clone(),
        passed: tests.passed,
        ran: tests.passed.saturating_add(tests.failed),
        after: run.approved,
    };
    match run.baselines.entry(key.to_owned()) {
        Entry::Vacant(entry) => {
            entry.insert(new);
        }
        Entry::Occupied(mut entry) => {
            let known = entry.get();
            if known.after != new.after || known.ran < new.ran {
                entry.insert(new);
            }
        }
    }
}
