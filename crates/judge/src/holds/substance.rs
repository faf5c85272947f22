//! Decides whether more than an exit code is as required: the test report, and frozen files.

use super::{Scope, Unmet};
use crate::{
    guard::EvidenceGuard,
    run::Seen,
    substance::{
        Against, FrozenChange, PassedAtLeast, ReportBaseline, ReportGuard, ReportRead, TestCounts,
    },
};

/// Checks the report and the frozen files of a call that ended as required.
pub(super) fn check(
    scope: Scope<'_>,
    guard: &EvidenceGuard,
    seen: &Seen,
    what: &str,
) -> Result<(), Unmet> {
    check_frozen(scope, guard, seen, what)?;
    match &guard.report {
        Some(report) => check_report(scope, guard, report, seen, what),
        None => Ok(()),
    }
}

fn check_frozen(
    scope: Scope<'_>,
    guard: &EvidenceGuard,
    seen: &Seen,
    what: &str,
) -> Result<(), Unmet> {
    if guard.frozen.is_empty() {
        return Ok(());
    }
    let Some(then) = &seen.frozen else {
        return Err(Unmet::unknown(
            "evidence",
            format!(
                "{what} was seen, and not whether frozen files were as they were: Interlock did not run the line itself"
            ),
        ));
    };
    // What is so now is said first: it is what can be put right.
    for (changes, when, then_do) in [
        (&scope.run.frozen, "are", "put them back, then run it again"),
        (then, "were", "run it again"),
    ] {
        let frozen = |change: &&FrozenChange| guard.frozen.contains(&change.pattern);
        if let Some(change) = changes.iter().find(frozen) {
            return Err(frozen_unmet(change, what, when, then_do));
        }
    }
    Ok(())
}

fn frozen_unmet(change: &FrozenChange, what: &str, when: &str, then_do: &str) -> Unmet {
    if let Some(problem) = change.problem {
        return Unmet::unknown(
            "evidence",
            format!(
                "{what} does not count: `{}`, which is frozen, {}",
                change.pattern,
                problem.sentence()
            ),
        );
    }
    Unmet::new(
        "evidence",
        format!(
            "{what} does not count: files frozen by `{}` {when} not as they were when the run began or a person last approved: {}; {then_do}, or have a person approve",
            change.pattern,
            change.files.shown()
        ),
    )
}

fn check_report(
    scope: Scope<'_>,
    guard: &EvidenceGuard,
    wanted: &ReportGuard,
    seen: &Seen,
    what: &str,
) -> Result<(), Unmet> {
    let path = &wanted.source.path;
    let unknown = |why: String| Unmet::unknown("evidence", format!("{what} does not count: {why}"));
    let no = |why: String| Unmet::new("evidence", format!("{what} does not count: {why}"));
    let tests = match &seen.report {
        Some(ReportRead::Tests(tests)) => tests,
        Some(ReportRead::Problem { code, line }) => {
            let at = line.map_or_else(String::new, |line| format!(" (line {line})"));
            return Err(unknown(format!(
                "its report `{path}` {}{at}",
                code.sentence()
            )));
        }
        None => {
            return Err(unknown(format!(
                "its report `{path}` was not read, since Interlock did not run the line itself"
            )));
        }
    };
    if tests.failed > 0 {
        return Err(no(format!(
            "its report `{path}` has {} that failed",
            counted(tests.failed)
        )));
    }
    let least = match wanted.passed {
        PassedAtLeast::Count(least) => least.max(1),
        PassedAtLeast::Start => 1,
    };
    if tests.passed < least {
        return Err(no(format!(
            "{} passed, wanted at least {least}",
            counted(tests.passed)
        )));
    }
    if !wanted.compares() {
        return Ok(());
    }
    let Some(baseline) = scope.run.baselines.get(&guard.key()) else {
        return Err(unknown(format!(
            "no report of it was seen before the first edit, so what passed at the start is not known; {AGAIN}"
        )));
    };
    compare(wanted, baseline, tests).map_err(|why| match why {
        Why::No(why) => no(why),
        Why::Unknown(why) => unknown(why),
    })
}

/// How a run gets a new baseline.
const AGAIN: &str = "once a person has approved a transition, the next run of it before an edit is taken for the start";

enum Why {
    No(String),
    Unknown(String),
}

/// Compares a report with the baseline.
fn compare(wanted: &ReportGuard, baseline: &ReportBaseline, tests: &TestCounts) -> Result<(), Why> {
    if wanted.passed == PassedAtLeast::Start && tests.passed < baseline.passed {
        return Err(Why::No(format!(
            "{} passed, and {} at the start",
            counted(tests.passed),
            baseline.passed
        )));
    }
    if !wanted.none_removed || tests.digest == baseline.digest {
        return Ok(());
    }
    let Some(Against { gone, skipped, .. }) = tests
        .against
        .as_ref()
        .filter(|against| against.baseline == baseline.digest)
    else {
        return Err(Why::Unknown(
            "its report was not compared with the one from the start; run it again".to_owned(),
        ));
    };
    if gone.count > 0 {
        return Err(Why::No(format!(
            "{} that ran at the start is gone: {}",
            counted(gone.count),
            gone.shown()
        )));
    }
    if skipped.count > 0 {
        return Err(Why::No(format!(
            "{} newly skipped: {}",
            counted(skipped.count),
            skipped.shown()
        )));
    }
    Ok(())
}

fn counted(count: u64) -> String {
    match count {
        1 => "1 test".to_owned(),
        count => format!("{count} tests"),
    }
}
