//! Reports of tests, where a guard asks for one: the one that is tried has all its tests, and they pass.

use interlock_core::{
    machine::Machine,
    names::Digest,
    run::Run,
    substance::{Checked, PassedAtLeast, ReportRead, SeenReport, TestCounts},
};
use serde_json::{Map, Value, json};

/// Tests that a trace may name; what wants more is not replayed.
const TESTS_MAX: u64 = 1_000;

/// Returns what is seen of the last call of `run`.
pub(crate) fn checked(run: &Run) -> Checked {
    let Some(call) = run.calls.back().filter(|call| call.marks.shell) else {
        return Checked::default();
    };
    let marks = call.marks.evidence.iter();
    let reports = marks.filter_map(|mark| mark.report.as_ref());
    Checked {
        reports: reports
            .map(|report| SeenReport {
                source: report.source.clone(),
                read: ReportRead::Tests(counts(u64::from(u32::MAX))),
            })
            .collect(),
        frozen: Some(Vec::new()),
    }
}

/// Returns what was read of a report as far as it tells states apart: that it is one.
pub(crate) fn plain(read: &ReportRead) -> ReportRead {
    match read {
        ReportRead::Tests(_) => ReportRead::Tests(counts(0)),
        problem @ ReportRead::Problem { .. } => problem.clone(),
    }
}

fn counts(passed: u64) -> TestCounts {
    TestCounts {
        digest: Digest::default(),
        passed,
        failed: 0,
        skipped: 0,
        against: None,
    }
}

/// Returns the same reports as a line of `simulate` gives them; `None`: no guard asks for any.
pub(crate) fn reports(machine: &Machine) -> Option<Value> {
    let mut given = Map::new();
    for report in machine
        .evidence_guards()
        .filter_map(|guard| guard.report.as_ref())
    {
        let wanted = match report.passed {
            PassedAtLeast::Start => 1,
            PassedAtLeast::Count(count) => count.min(TESTS_MAX),
        };
        let known = given.get(&report.source.path);
        let before = known.and_then(|one: &Value| one.pointer("/passed")?.as_array().map(Vec::len));
        let count = wanted.max(u64::try_from(before.unwrap_or_default()).unwrap_or(u64::MAX));
        let names: Vec<String> = (1..=count).map(|number| format!("test {number}")).collect();
        given.insert(report.source.path.clone(), json!({ "passed": names }));
    }
    (!given.is_empty()).then_some(Value::Object(given))
}
