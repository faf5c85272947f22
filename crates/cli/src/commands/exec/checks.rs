//! What guards need of a line besides its exit code: test reports, and unchanged frozen files.

use std::path::Path;

use interlock_core::{
    event::EvidenceMark,
    machine::Machine,
    names::{CallId, Digest},
    run::Run,
    substance::{Checked, FrozenChange, ReportProblem, ReportRead, SeenReport},
};
use interlock_facts::{TestReport, read_report};
use interlock_store::{ReportFiles, RunLog};

/// The state before a line; empty if no guard needs it.
#[derive(Debug, Default)]
pub(super) struct Checks {
    reports: Vec<(EvidenceMark, ReportFiles)>,
    /// How frozen files differed; `None` if the run freezes none.
    frozen: Option<Vec<FrozenChange>>,
}

impl Checks {
    /// Reads the reports and frozen files that guards need for the line of `call`.
    pub(super) fn look(
        log: &RunLog,
        machine: &Machine,
        run: &Run,
        call: &CallId,
        project: &Path,
    ) -> Self {
        let call = run.calls.iter().find(|open| open.id == *call);
        let marks = call.map_or(&[][..], |call| &call.marks.evidence);
        let reports = marks.iter().filter_map(|mark| {
            let path = &mark.report.as_ref()?.source.path;
            Some((mark.clone(), ReportFiles::look(project, path)))
        });
        Self {
            reports: reports.collect(),
            frozen: log.folder().frozen_changes(machine),
        }
    }

    /// Reads them again after the line has ended.
    pub(super) fn seen(self, log: &RunLog, machine: &Machine, run: &Run) -> Checked {
        let after = self
            .frozen
            .as_ref()
            .and_then(|_| log.folder().frozen_changes(machine));
        let frozen = self.frozen.map(|mut before| {
            for change in after.into_iter().flatten() {
                if !before.iter().any(|known| known.pattern == change.pattern) {
                    before.push(change);
                }
            }
            before
        });
        let reports = self.reports.iter().filter_map(|(mark, files)| {
            let source = mark.report.as_ref()?.source.clone();
            let read = read(log, run, mark, files);
            Some(SeenReport { source, read })
        });
        Checked {
            reports: reports.collect(),
            frozen,
        }
    }
}

fn read(log: &RunLog, run: &Run, mark: &EvidenceMark, files: &ReportFiles) -> ReportRead {
    let Some(wanted) = &mark.report else {
        return ReportRead::problem(ReportProblem::Absent);
    };
    let bytes = match files.written() {
        Ok(bytes) => bytes,
        Err(code) => return ReportRead::problem(code),
    };
    let report = match read_report(wanted.source.format, &bytes) {
        Ok(report) => report,
        Err(failure) => {
            return ReportRead::Problem {
                code: failure.code,
                line: failure.line,
            };
        }
    };
    compare(log, run, &mark.key, report).unwrap_or_else(ReportRead::problem)
}

/// Compares a report with the one from the start, and stores it if it may become that.
fn compare(
    log: &RunLog,
    run: &Run,
    key: &str,
    report: TestReport,
) -> Result<ReportRead, ReportProblem> {
    let baseline = match run.baselines.get(key) {
        Some(known) => Some(kept(log, &known.digest)?),
        None => None,
    };
    let counts = report.counts(baseline.as_ref());
    if run.takes_baseline() {
        let kept = log
            .folder()
            .begin_baseline(&name_of(&counts.digest), report);
        kept.map_err(|_| ReportProblem::NoBaseline)?;
    }
    Ok(ReportRead::Tests(counts))
}

/// Reads a stored report, which must have the digest in the log.
fn kept(log: &RunLog, digest: &Digest) -> Result<TestReport, ReportProblem> {
    match log.folder().baseline::<TestReport>(&name_of(digest)) {
        Ok(Some(report)) if report.digest() == *digest => Ok(report),
        _ => Err(ReportProblem::NoBaseline),
    }
}

fn name_of(digest: &Digest) -> String {
    format!("report-{digest}")
}
