//! Findings of the checks of a machine, with their positions in the file.

use interlock_validate::{Finding, FindingCode, Location, Severity, validate};

use super::machine::Reading;
use crate::{diagnostic::Report, source::Span, spans::Spans};

/// Findings that are not reported if a part of the machine could not be parsed.
const NEEDS_THE_WHOLE: &[FindingCode] = &[
    FindingCode::UnreachableState,
    FindingCode::DeadEnd,
    FindingCode::NoReturn,
    FindingCode::UndefinedMachine,
    FindingCode::EndlessBranch,
];

/// Checks the machine and adds the findings to the report.
pub(crate) fn add_findings(reading: &mut Reading) {
    for finding in validate(&reading.machine) {
        add(reading, finding);
    }
}

fn add(reading: &mut Reading, finding: Finding) {
    let Location { machine, place } = finding.at.clone();
    // The copy of the outermost machine has the positions of the original.
    let machine = machine.filter(|key| reading.root_key.as_ref() != Some(key));
    if reading.unread.contains(&machine) {
        return;
    }
    if reading.incomplete.contains(&machine) && NEEDS_THE_WHOLE.contains(&finding.code) {
        return;
    }
    let at = Location { machine, place };
    tell(
        Finding { at, ..finding },
        &reading.spans,
        &mut reading.report,
    );
}

/// Adds findings of a machine that was written in one file.
pub(crate) fn add_all(findings: impl Iterator<Item = Finding>, spans: &Spans, report: &mut Report) {
    for finding in findings {
        tell(finding, spans, report);
    }
}

fn tell(finding: Finding, spans: &Spans, report: &mut Report) {
    let span = spans.find(&finding.at).unwrap_or(Span::new(0, 0, 0));
    let code = finding.code.as_str();
    let problem = match finding.severity {
        Severity::Error => report.error(span, code, finding.message),
        Severity::Warning => report.warning(span, code, finding.message),
        Severity::Note => report.note(span, code, finding.message),
    };
    problem.help = finding.help;
}
