//! The JSON format of jest, which vitest also writes.

use interlock_core::substance::ReportProblem;
use serde_json::Value;

use super::{ReportFailure, TestOutcome, Tests, joined};

/// Parses a report into `tests`.
pub(super) fn read(text: &str, tests: &mut Tests) -> Result<(), ReportFailure> {
    // Deeper nesting than a report ever has is rejected by the parser.
    let report: Value = serde_json::from_str(text).map_err(|error| ReportFailure {
        code: if error.is_eof() {
            ReportProblem::Incomplete
        } else {
            ReportProblem::Malformed
        },
        line: u64::try_from(error.line()).ok(),
    })?;
    let list = |value: &Value, key: &str| -> Result<Vec<Value>, ReportProblem> {
        let list = value.get(key).and_then(Value::as_array);
        list.cloned().ok_or(ReportProblem::Malformed)
    };
    for file in list(&report, "testResults")? {
        let path = text_of(&file, "name");
        for test in list(&file, "assertionResults")? {
            let outcome = match text_of(&test, "status") {
                "passed" => TestOutcome::Passed,
                "failed" => TestOutcome::Failed,
                "pending" | "skipped" | "todo" | "disabled" | "focused" => TestOutcome::Skipped,
                _ => return Err(ReportProblem::Malformed.into()),
            };
            tests.add(&joined([path, text_of(&test, "fullName")]), outcome)?;
        }
        if text_of(&file, "status") == "failed" && !has_failure(&file) {
            tests.fail(path)?;
        }
    }
    if report.get("success") == Some(&Value::Bool(false)) && !has_failed(tests) {
        tests.fail("the run")?;
    }
    Ok(())
}

fn has_failure(file: &Value) -> bool {
    let tests = file.get("assertionResults").and_then(Value::as_array);
    tests
        .into_iter()
        .flatten()
        .any(|test| text_of(test, "status") == "failed")
}

fn has_failed(tests: &Tests) -> bool {
    let mut outcomes = tests.report.tests.values();
    outcomes.any(|outcome| *outcome == TestOutcome::Failed)
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
