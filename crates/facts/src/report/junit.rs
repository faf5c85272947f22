//! JUnit XML, as many tools write it.
//!
//! The tools agree on `testcase` with `failure`, `error` and `skipped` in it, and on little else: suites may be alone, side by
//! side or nested, and a test may be named by its class, its suite or its file.

use interlock_core::substance::ReportProblem;
use quick_xml::{
    Reader,
    escape::unescape,
    events::{BytesStart, Event},
};

use super::{DEPTH_MAX, ReportFailure, TestOutcome, Tests, joined, line_of};

/// Maximum number of attributes that are read of an element.
const ATTRIBUTES_MAX: usize = 64;

/// Parses a document into `tests`.
pub(super) fn read(text: &str, tests: &mut Tests) -> Result<(), ReportFailure> {
    let mut reader = Reader::from_str(text);
    let mut document = Document {
        tests,
        open: Vec::new(),
        case: None,
        is_report: false,
    };
    loop {
        let taken = match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => document.take(&event),
            Err(_) => Err(ReportProblem::Malformed),
        };
        taken.map_err(|code| ReportFailure {
            code,
            line: Some(line_of(text, reader.buffer_position())),
        })?;
    }
    if !document.open.is_empty() || !document.is_report {
        return Err(ReportProblem::Incomplete.into());
    }
    Ok(())
}

/// A document while it is parsed.
struct Document<'t> {
    tests: &'t mut Tests,
    /// Open elements.
    open: Vec<Element>,
    /// Test whose element is open.
    case: Option<Case>,
    /// Whether its outermost element is that of a report.
    is_report: bool,
}

struct Element {
    kind: Kind,
    /// Name of the suite.
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Suites,
    Suite,
    Case,
    Other,
}

struct Case {
    name: String,
    outcome: TestOutcome,
    /// Whether its failure is expected.
    is_todo: bool,
    /// Number of elements that were open before it.
    depth: usize,
}

impl Document<'_> {
    fn take(&mut self, event: &Event<'_>) -> Result<(), ReportProblem> {
        match event {
            Event::Start(start) => self.begin(start),
            Event::Empty(start) => {
                self.begin(start)?;
                self.end()
            }
            Event::End(_) => self.end(),
            Event::Decl(declared) => match declared.encoding() {
                None => Ok(()),
                Some(Ok(name)) if is_utf8(&name) => Ok(()),
                Some(_) => Err(ReportProblem::Encoding),
            },
            // No report needs any declaration.
            Event::DocType(_) => Err(ReportProblem::Malformed),
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::PI(_)
            | Event::GeneralRef(_)
            | Event::Eof => Ok(()),
        }
    }

    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), ReportProblem> {
        if self.open.len() >= DEPTH_MAX {
            return Err(ReportProblem::Malformed);
        }
        let name = start.local_name();
        let kind = match name.into_inner() {
            "testsuites" => Kind::Suites,
            "testsuite" => Kind::Suite,
            "testcase" => Kind::Case,
            _ => Kind::Other,
        };
        if self.open.is_empty() {
            // Content after the report does not belong to it.
            if self.is_report || !matches!(kind, Kind::Suites | Kind::Suite) {
                return Err(ReportProblem::Malformed);
            }
            self.is_report = true;
        }
        let mut suite = String::new();
        match kind {
            Kind::Suite => {
                suite = attributes(start, ["name"])?
                    .into_iter()
                    .next()
                    .unwrap_or_default()
            }
            Kind::Case => self.begin_case(start)?,
            Kind::Suites => {}
            Kind::Other => self.note(name.into_inner(), start)?,
        }
        self.open.push(Element { kind, name: suite });
        Ok(())
    }

    fn begin_case(&mut self, start: &BytesStart<'_>) -> Result<(), ReportProblem> {
        if self.case.is_some() {
            return Err(ReportProblem::Malformed);
        }
        let [file, class, name, status, result] =
            attributes(start, ["file", "classname", "name", "status", "result"])?;
        let suites = self.open.iter().map(|element| element.name.as_str());
        let mut parts: Vec<&str> = vec![file.as_str()];
        parts.extend(suites);
        parts.extend([class.as_str(), name.as_str()]);
        // A class often has the same name as its suite.
        parts.dedup();
        let is_skipped = matches!(
            status.as_str(),
            "notrun" | "skipped" | "disabled" | "ignored"
        ) || matches!(result.as_str(), "skipped" | "suppressed");
        self.case = Some(Case {
            name: joined(parts),
            outcome: if is_skipped {
                TestOutcome::Skipped
            } else {
                TestOutcome::Passed
            },
            is_todo: false,
            depth: self.open.len(),
        });
        Ok(())
    }

    /// Records what an element says about the enclosing test or suite.
    fn note(&mut self, name: &str, start: &BytesStart<'_>) -> Result<(), ReportProblem> {
        let outcome = match name {
            "failure" | "error" => TestOutcome::Failed,
            "skipped" | "ignored" => TestOutcome::Skipped,
            // `rerunFailure`, `flakyFailure` and the like belong to attempts before the last.
            _ => return Ok(()),
        };
        let depth = self.open.len();
        match &mut self.case {
            Some(case) if depth == case.depth + 1 => {
                let [kind] = attributes(start, ["type"])?;
                // Node describes how a todo test fails.
                case.is_todo |= outcome == TestOutcome::Skipped && kind == "todo";
                case.outcome = case.outcome.max(outcome);
            }
            Some(_) => {}
            None => {
                let is_suite =
                    |element: &&Element| matches!(element.kind, Kind::Suite | Kind::Suites);
                let of_suite = self.open.last().filter(is_suite).is_some();
                if of_suite && outcome == TestOutcome::Failed {
                    let name = joined(self.open.iter().map(|element| element.name.as_str()));
                    self.tests.fail(&name)?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ReportProblem> {
        let ended = self.open.pop();
        if ended.is_some_and(|element| element.kind == Kind::Case)
            && let Some(case) = self.case.take()
        {
            let outcome = if case.is_todo {
                TestOutcome::Skipped
            } else {
                case.outcome
            };
            self.tests.add(&case.name, outcome)?;
        }
        Ok(())
    }
}

fn is_utf8(name: &str) -> bool {
    ["utf-8", "utf8", "us-ascii", "ascii"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the values of some attributes; empty if one is missing.
fn attributes<const N: usize>(
    start: &BytesStart<'_>,
    wanted: [&str; N],
) -> Result<[String; N], ReportProblem> {
    let mut found = wanted.map(|_| String::new());
    // The library's check for duplicates compares all pairs, which takes long with many attributes.
    for attribute in start.attributes().with_checks(false).take(ATTRIBUTES_MAX) {
        let attribute = attribute.map_err(|_| ReportProblem::Malformed)?;
        let at = wanted
            .iter()
            .position(|name| *name == attribute.key.into_inner());
        if let Some(slot) = at.and_then(|at| found.get_mut(at)) {
            let value = unescape(&attribute.value).map_err(|_| ReportProblem::Malformed)?;
            *slot = value.into_owned();
        }
    }
    Ok(found)
}
