//! Findings of `check`, `test` and `prove`, in formats for other programs.
//!
//! Each command fills one [`Findings`]; only this module decides how it is written.

mod github;
mod junit;
mod place;
mod sarif;

use interlock_formats::{Diagnostic, Severity};

use crate::{app::App, args::FindingFormat, failure::Done};

use place::Repository;

/// Everything that a command found.
#[derive(Debug)]
pub(crate) struct Findings {
    /// The command.
    command: &'static str,
    /// Problems at places in files.
    findings: Vec<Finding>,
    /// Checks, whether they passed or not.
    cases: Vec<Case>,
}

/// One problem and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Stable identifier of this kind of problem.
    pub(crate) rule: String,
    /// Severity of the problem.
    pub(crate) severity: Severity,
    /// What is wrong, and what to do about it.
    pub(crate) message: String,
    /// The file, as the command names it.
    pub(crate) file: String,
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in characters, from 1, if known.
    pub(crate) column: Option<usize>,
}

/// One check, written as a test of a test report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// The file it belongs to, as the command names it.
    pub(crate) file: String,
    /// Its name.
    pub(crate) name: String,
    /// Outcome of the check.
    pub(crate) outcome: CaseResult,
}

/// Outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseResult {
    /// The case passed.
    Passed,
    /// The case failed, with the reason.
    Failed(String),
    /// The case could not be decided, with the reason.
    Undecided(String),
}

impl Findings {
    /// Starts an empty list for a command.
    pub(crate) const fn of(command: &'static str) -> Self {
        Self {
            command,
            findings: Vec::new(),
            cases: Vec::new(),
        }
    }

    /// Adds a problem.
    pub(crate) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Adds several problems.
    pub(crate) fn add_all(&mut self, found: impl IntoIterator<Item = Finding>) {
        self.findings.extend(found);
    }

    /// Adds a case.
    pub(crate) fn add_case(&mut self, case: Case) {
        self.cases.push(case);
    }

    /// Adds the case that a file is valid: it fails with those of `found` that have at least the severity `limit`.
    pub(crate) fn add_file(&mut self, file: &str, name: &str, found: &[Finding], limit: Severity) {
        let stops: Vec<String> = found
            .iter()
            .filter(|finding| finding.severity <= limit)
            .map(|finding| format!("{}:{}: {}", finding.file, finding.line, finding.message))
            .collect();
        let outcome = match stops.is_empty() {
            true => CaseResult::Passed,
            false => CaseResult::Failed(stops.join("\n")),
        };
        self.add_case(Case {
            file: file.to_owned(),
            name: name.to_owned(),
            outcome,
        });
    }

    /// Prints everything in `format`; nothing if the command prints it itself.
    pub(crate) fn print(mut self, app: &App, format: FindingFormat) -> Done {
        let repository = Repository::around(&app.directory);
        for finding in &mut self.findings {
            finding.file = repository.relative(&finding.file);
        }
        for case in &mut self.cases {
            case.file = repository.relative(&case.file);
        }
        match format {
            FindingFormat::Text | FindingFormat::Json => Ok(()),
            FindingFormat::Github => app.output.painted(&github::write(&self.findings)),
            FindingFormat::Sarif => app.output.json(&sarif::write(self.command, &self.findings)),
            FindingFormat::Junit => app.output.painted(&junit::write(self.command, &self.cases)),
        }
    }
}

impl From<&Diagnostic> for Finding {
    fn from(found: &Diagnostic) -> Self {
        let message = match &found.help {
            Some(help) => format!("{}\nhelp: {help}", found.message),
            None => found.message.clone(),
        };
        Self {
            rule: found.code.to_owned(),
            severity: found.severity,
            message,
            file: found.file.clone(),
            line: found.line,
            column: Some(found.column),
        }
    }
}
