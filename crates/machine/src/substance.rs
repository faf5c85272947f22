//! Evidence beyond an exit code: the results in a test report, and whether frozen files are unchanged.
//!
//! This module holds only facts and codes. Reading files and comparing reports happens outside.

use serde::{Deserialize, Serialize};

use crate::names::Digest;

/// Maximum number of tests or files listed by name; the rest are only counted.
pub const NAMED_MAX: usize = 5;

/// Format of a test report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// JUnit XML.
    Junit,
    /// The Test Anything Protocol.
    Tap,
    /// The JSON of jest, which vitest writes too.
    Json,
}

impl ReportFormat {
    /// Returns the key of the format in workflow files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Json => "json",
        }
    }
}

/// Where a command writes its report, and in which format.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReportSource {
    /// Format of the report.
    pub format: ReportFormat,
    /// Path relative to the project root; the last segment may contain `*` for several files.
    pub path: String,
}

/// What a guard requires of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportGuard {
    /// The report.
    pub source: ReportSource,
    /// How many tests must have passed.
    pub passed: PassedAtLeast,
    /// Whether every test of the baseline must still exist, and none may be newly skipped.
    pub none_removed: bool,
}

impl ReportGuard {
    /// Returns whether the guard compares the report with the baseline.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.none_removed || self.passed == PassedAtLeast::Start
    }
}

/// Minimum number of tests that must have passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedAtLeast {
    /// The number of the baseline.
    Start,
    /// This number.
    Count(u64),
}

/// What was checked of a shell line besides its exit code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// The reports that guards ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<SeenReport>,
    /// Patterns whose files differed, before or after; `None`: nobody compared them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Vec<FrozenChange>>,
}

impl Checked {
    /// Returns whether nothing was checked.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the result of reading one report.
    #[must_use]
    pub fn report(&self, source: &ReportSource) -> Option<&ReportRead> {
        let mut reports = self.reports.iter();
        reports
            .find(|seen| seen.source == *source)
            .map(|seen| &seen.read)
    }
}

/// A report, read after its command has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReport {
    /// Report that was read.
    pub source: ReportSource,
    /// Result of reading it.
    pub read: ReportRead,
}

/// Result of reading a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportRead {
    /// Results of its tests.
    Tests(TestCounts),
    /// The report is not evidence.
    Problem {
        /// Reason that it is not evidence.
        code: ReportProblem,
        /// Line of the file where reading stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
    },
}

impl ReportRead {
    /// Creates a problem without a line.
    #[must_use]
    pub const fn problem(code: ReportProblem) -> Self {
        Self::Problem { code, line: None }
    }
}

/// Results of the tests in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Digest of every test with its result.
    pub digest: Digest,
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed, including other errors in the report.
    pub failed: u64,
    /// Number of tests that were skipped.
    pub skipped: u64,
    /// Comparison with the baseline; `None`: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

/// A report compared with a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// Digest of the baseline.
    pub baseline: Digest,
    /// Tests of the baseline that are missing from the report.
    pub gone: Named,
    /// Tests that are skipped and were not in the baseline.
    pub skipped: Named,
}

/// A count of things, with the names of the first few.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Number of them.
    pub count: u64,
    /// The first few names.
    pub names: Vec<String>,
}

impl Named {
    /// Counts `all`, and keeps the first few names.
    pub fn of(all: impl IntoIterator<Item = String>) -> Self {
        let mut named = Self::default();
        for name in all {
            named.count += 1;
            if named.names.len() < NAMED_MAX {
                named.names.push(name);
            }
        }
        named
    }

    /// Returns the names in one line.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = self
            .names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let named = u64::try_from(self.names.len()).unwrap_or(u64::MAX);
        if self.count > named {
            text.push_str(&format!(" and {} more", self.count - named));
        }
        text
    }
}

/// Why a report is not evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportProblem {
    /// The file does not exist.
    Absent,
    /// The run of the command did not write it.
    Stale,
    /// It is a link, a pipe or a directory, or it has several names.
    NoPlainFile,
    /// Its directory lies outside the project.
    Outside,
    /// It has too many bytes, or there are too many files.
    TooLarge,
    /// It has too many tests.
    TooManyTests,
    /// It is not UTF-8.
    Encoding,
    /// It does not follow its format.
    Malformed,
    /// It ends before it is complete.
    Incomplete,
    /// It cannot be read.
    Unreadable,
    /// The baseline cannot be read.
    NoBaseline,
    /// Another command of the line may have written it.
    NotAlone,
    /// Another call ran at the same time.
    Overlapped,
}

impl ReportProblem {
    /// Every problem.
    pub const ALL: [Self; 13] = [
        Self::Absent,
        Self::Stale,
        Self::NoPlainFile,
        Self::Outside,
        Self::TooLarge,
        Self::TooManyTests,
        Self::Encoding,
        Self::Malformed,
        Self::Incomplete,
        Self::Unreadable,
        Self::NoBaseline,
        Self::NotAlone,
        Self::Overlapped,
    ];

    /// Returns the code, and the sentence that follows the name of the report.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Absent => ("absent", "is not there"),
            Self::Stale => ("stale", "was not written by this run of the command"),
            Self::NoPlainFile => ("no_plain_file", "is not a regular file with a single name"),
            Self::Outside => ("outside", "is outside the project because of a link"),
            Self::TooLarge => ("too_large", "is too large"),
            Self::TooManyTests => ("too_many_tests", "has too many tests"),
            Self::Encoding => ("encoding", "is not UTF-8"),
            Self::Malformed => ("malformed", "is not valid in its format"),
            Self::Incomplete => ("incomplete", "is not complete"),
            Self::Unreadable => ("unreadable", "cannot be read"),
            Self::NoBaseline => (
                "no_baseline",
                "cannot be compared: the report from the start is lost",
            ),
            Self::NotAlone => (
                "not_alone",
                "may be of another command of the same line; run the command in a line of its own",
            ),
            Self::Overlapped => (
                "overlapped",
                "may be of another call that ran at the same time; wait for its end, then run it again",
            ),
        }
    }

    /// Returns the code that `simulate` uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.words().0
    }

    /// Returns the sentence that follows the name of the report.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        self.words().1
    }
}

/// Files of one pattern that have changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenChange {
    /// The pattern, as the workflow writes it.
    pub pattern: String,
    /// The files, relative to the project.
    #[serde(default)]
    pub files: Named,
    /// Why changes cannot be detected; the files then count as changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<FrozenProblem>,
}

/// Why it cannot be detected whether files have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrozenProblem {
    /// Too many files match, or they have too many bytes.
    TooMany,
    /// A file or directory cannot be read.
    Unreadable,
    /// Their earlier state was not recorded.
    NotKept,
}

impl FrozenProblem {
    /// Returns the sentence that follows the pattern.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::TooMany => "matches too many files to compare",
            Self::Unreadable => "matches something that cannot be read",
            Self::NotKept => "was not looked at when the run began",
        }
    }
}

/// Baseline report that later reports are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportBaseline {
    /// Digest of the report.
    pub digest: Digest,
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that passed or failed.
    pub ran: u64,
    /// Sequence number of the approval that preceded it; `None`: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}
