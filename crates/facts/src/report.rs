//! Reports of test runs: the outcome of each test, whatever tool wrote them.
//!
//! A report is text from the agent's project. A report that is incomplete, too large or contradictory is rejected with a reason,
//! and proves nothing.

mod jest;
mod junit;
mod tap;

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    names::Digest,
    substance::{Against, Named, ReportFormat, ReportProblem, TestCounts},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum number of tests in a report.
const TESTS_MAX: usize = 20_000;
/// Maximum total length of the names of all tests in a report, in bytes.
const NAMES_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Maximum length of a test's name in characters; a longer name is cut.
const NAME_MAX: usize = 400;
/// Maximum nesting of elements, tests or objects.
const DEPTH_MAX: usize = 64;

/// Outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// It passed.
    Passed,
    /// It was skipped, or its failure is expected.
    Skipped,
    /// It failed.
    Failed,
}

/// The tests of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TestReport {
    tests: BTreeMap<String, TestOutcome>,
}

/// Why a report cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportFailure {
    /// The reason.
    pub code: ReportProblem,
    /// Line at which parsing ended, if known.
    pub line: Option<u64>,
}

impl From<ReportProblem> for ReportFailure {
    fn from(code: ReportProblem) -> Self {
        Self { code, line: None }
    }
}

/// Parses a report that consists of these files.
///
/// # Errors
/// One of them is incomplete, does not match `format`, or is too large.
pub fn read_report(format: ReportFormat, files: &[Vec<u8>]) -> Result<TestReport, ReportFailure> {
    let mut tests = Tests::default();
    for bytes in files {
        let text = std::str::from_utf8(bytes).map_err(|_| ReportProblem::Encoding)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match format {
            ReportFormat::Junit => junit::read(text, &mut tests)?,
            ReportFormat::Tap => tap::read(text, &mut tests)?,
            ReportFormat::Json => jest::read(text, &mut tests)?,
        }
    }
    Ok(tests.report)
}

impl TestReport {
    /// Creates a report from tests by name and outcome.
    ///
    /// # Errors
    /// There are too many.
    pub fn of(
        tests: impl IntoIterator<Item = (String, TestOutcome)>,
    ) -> Result<Self, ReportProblem> {
        let mut found = Tests::default();
        for (name, outcome) in tests {
            found.add(&name, outcome)?;
        }
        Ok(found.report)
    }

    /// Returns the digest of every test and its outcome.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        for (name, outcome) in &self.tests {
            // Names contain no NUL: no format allows it.
            hash.update(name.as_bytes());
            hash.update([0, *outcome as u8]);
        }
        let text: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Digest::new(text)
    }

    /// Counts the tests, and compares them with those of a baseline.
    #[must_use]
    pub fn counts(&self, baseline: Option<&Self>) -> TestCounts {
        let count = |wanted: TestOutcome| {
            let found = self.tests.values().filter(|outcome| **outcome == wanted);
            u64::try_from(found.count()).unwrap_or(u64::MAX)
        };
        TestCounts {
            digest: self.digest(),
            passed: count(TestOutcome::Passed),
            failed: count(TestOutcome::Failed),
            skipped: count(TestOutcome::Skipped),
            against: baseline.map(|baseline| self.against(baseline)),
        }
    }

    fn against(&self, baseline: &Self) -> Against {
        let ran = baseline
            .tests
            .iter()
            .filter(|(_, outcome)| **outcome != TestOutcome::Skipped);
        let gone = ran.filter(|(name, _)| !self.tests.contains_key(*name));
        let skipped = self.tests.iter().filter(|(name, outcome)| {
            **outcome == TestOutcome::Skipped
                && baseline.tests.get(*name) != Some(&TestOutcome::Skipped)
        });
        Against {
            baseline: baseline.digest(),
            gone: Named::of(gone.map(|(name, _)| name.clone())),
            skipped: Named::of(skipped.map(|(name, _)| name.clone())),
        }
    }
}

/// Collects tests while they are parsed.
#[derive(Debug, Default)]
struct Tests {
    report: TestReport,
    bytes: usize,
    /// How often each name has occurred.
    repeated: BTreeMap<String, u64>,
    /// Names of suites, so that a failure of one counts as a test.
    suites: BTreeSet<String>,
}

impl Tests {
    /// Adds a test; tests with the same name are numbered.
    fn add(&mut self, name: &str, outcome: TestOutcome) -> Result<(), ReportProblem> {
        let name: String = name
            .chars()
            .take(NAME_MAX)
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        let name = if self.report.tests.contains_key(&name) {
            let count = self.repeated.entry(name.clone()).or_insert(1);
            *count += 1;
            format!("{name} #{count}")
        } else {
            name
        };
        self.bytes = self.bytes.saturating_add(name.len());
        if self.report.tests.len() >= TESTS_MAX || self.bytes > NAMES_BYTES_MAX {
            return Err(ReportProblem::TooManyTests);
        }
        self.report.tests.insert(name, outcome);
        Ok(())
    }

    /// Adds the failure of something that is not a test, once per name.
    fn fail(&mut self, name: &str) -> Result<(), ReportProblem> {
        let name = format!("{name} (as a whole)");
        if self.suites.insert(name.clone()) {
            self.add(&name, TestOutcome::Failed)?;
        }
        Ok(())
    }
}

/// Joins the non-empty parts of a name.
fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" > ")
}

/// Returns the line number of a byte offset.
fn line_of(text: &str, byte: u64) -> u64 {
    let end = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    let before = text.as_bytes().get(..end).unwrap_or_default();
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    u64::try_from(lines).unwrap_or(u64::MAX).saturating_add(1)
}
