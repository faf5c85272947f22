//! What is said of reports of tests and of frozen files.

use interlock_core::substance::{Checked, FrozenChange, ReportRead, SeenReport};

/// Says what was seen of a line beside its exit code; nothing where nobody asked.
pub(super) fn checked(checked: &Checked) -> String {
    let reports = checked.reports.iter().map(report);
    let frozen = checked.frozen.iter().flatten().map(change);
    reports
        .chain(frozen)
        .map(|part| format!(", {part}"))
        .collect()
}

fn report(seen: &SeenReport) -> String {
    let path = &seen.source.path;
    match &seen.read {
        ReportRead::Tests(tests) => {
            let against = tests.against.as_ref();
            let gone = against.filter(|against| against.gone.count > 0);
            let skipped = against.filter(|against| against.skipped.count > 0);
            format!(
                "report {path}: {} passed, {} failed, {} skipped{}{}",
                tests.passed,
                tests.failed,
                tests.skipped,
                gone.map_or_else(String::new, |against| format!(
                    ", gone {}",
                    against.gone.shown()
                )),
                skipped.map_or_else(String::new, |against| format!(
                    ", newly skipped {}",
                    against.skipped.shown()
                )),
            )
        }
        ReportRead::Problem { code, .. } => format!("report {path} {}", code.sentence()),
    }
}

fn change(change: &FrozenChange) -> String {
    match change.problem {
        Some(problem) => format!("frozen {} {}", change.pattern, problem.sentence()),
        None => format!(
            "frozen {} changed: {}",
            change.pattern,
            change.files.shown()
        ),
    }
}

/// Says how frozen files differ from how they were.
pub(super) fn compared(changes: &[FrozenChange]) -> String {
    if changes.is_empty() {
        return "all are as they were".to_owned();
    }
    changes.iter().map(change).collect::<Vec<_>>().join(", ")
}
