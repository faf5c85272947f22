//! Test reports in input lines: by the path of the report, the names of its tests or why it is invalid.

use interlock_core::substance::ReportProblem;
use serde_json::Value;

use super::fields::Fields;

/// A report that a command has written, according to the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenReport {
    /// Path in the workflow.
    pub path: String,
    /// Its tests, or why it is invalid.
    pub tests: Result<GivenTests, ReportProblem>,
}

/// The tests of a report, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenTests {
    /// Tests that passed.
    pub passed: Vec<String>,
    /// Tests that failed.
    pub failed: Vec<String>,
    /// Tests that were skipped.
    pub skipped: Vec<String>,
}

/// Parses `reports`.
pub(super) fn reports(fields: &mut Fields) -> Result<Vec<GivenReport>, String> {
    let given = fields.optional_object("reports")?;
    given
        .into_iter()
        .map(|(path, value)| {
            let tests = tests_of(&path, value)?;
            Ok(GivenReport { path, tests })
        })
        .collect()
}

fn tests_of(path: &str, value: Value) -> Result<Result<GivenTests, ReportProblem>, String> {
    match value {
        Value::Object(object) => {
            let mut fields = Fields::new(object, "reports");
            let tests = GivenTests {
                passed: fields.optional_texts("passed")?,
                failed: fields.optional_texts("failed")?,
                skipped: fields.optional_texts("skipped")?,
            };
            fields.finish()?;
            Ok(Ok(tests))
        }
        Value::String(word) => {
            let known = ReportProblem::ALL.into_iter();
            let mut named = known.filter(|problem| problem.as_str() == word);
            named.next().map(Err).ok_or_else(|| {
                let words = ReportProblem::ALL.map(ReportProblem::as_str);
                format!(
                    "`reports`: `{word}` is none of {}",
                    words.map(|word| format!("`{word}`")).join(", ")
                )
            })
        }
        _ => Err(format!(
            "`reports`: wanted for `{path}` an object such as {{\"passed\": [\"a\"], \"failed\": [], \"skipped\": []}}, or a word such as `stale`"
        )),
    }
}
