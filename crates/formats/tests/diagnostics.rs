//! Every invalid or questionable workflow gets the expected diagnostics at the expected places.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{Diagnostic, NoWorkflows, Severity, Source, check, render};

/// One line of an `.expect` file: `LINE:COLUMN error|warning contains: text ; contains: text`.
#[derive(Debug)]
struct Expected {
    place: (usize, usize),
    severity: Severity,
    contains: Vec<String>,
}

impl Expected {
    fn parse(line: &str) -> Option<Self> {
        let (place, rest) = line.split_once(' ')?;
        let (row, column) = place.split_once(':')?;
        let (severity, rest) = rest.split_once(' ')?;
        let severity = match severity {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            "note" => Severity::Note,
            _ => return None,
        };
        let parts = rest
            .split(" ; ")
            .map(|part| Some(part.trim().strip_prefix("contains: ")?.to_owned()));
        Some(Self {
            place: (row.parse().ok()?, column.parse().ok()?),
            severity,
            contains: parts.collect::<Option<_>>()?,
        })
    }

    fn is(&self, found: &Diagnostic) -> bool {
        (found.line, found.column) == self.place
            && found.severity == self.severity
            && self
                .contains
                .iter()
                .all(|part| found.message.contains(part))
    }
}

/// Compares the diagnostics with the expected ones: none may be missing or additional.
///
/// If there are errors, additional warnings and notes are permitted.
fn compare(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    let said = check(&Source::new(name, text), &NoWorkflows);
    let wanted = fs::read_to_string(path.with_extension("expect")).unwrap();
    let mut open: Vec<Expected> = wanted
        .lines()
        .map(|line| {
            Expected::parse(line)
                .unwrap_or_else(|| panic!("{}: cannot read `{line}`", path.display()))
        })
        .collect();
    let fails = open
        .iter()
        .any(|expected| expected.severity == Severity::Error);
    let mut added = Vec::new();
    for found in &said {
        match open.iter().position(|expected| expected.is(found)) {
            Some(at) => drop(open.remove(at)),
            // An unsupported feature is reported in addition to the intended error.
            None if found.code == "unsupported" => {}
            None if found.severity == Severity::Error || !fails => added.push(found.clone()),
            None => {}
        }
    }
    if open.is_empty() && added.is_empty() {
        return None;
    }
    let missing: Vec<String> = open
        .iter()
        .map(|expected| format!("{expected:?}"))
        .collect();
    Some(format!(
        "== {}\nmissing: {}\nnot expected:\n{}all:\n{}",
        path.display(),
        missing.join("\n"),
        render(&added, false),
        render(&said, false)
    ))
}

fn workflows(directory: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut found: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "yaml" || end == "json")
        })
        .collect();
    found.sort();
    found
}

fn check_all(directory: &str) {
    let files = workflows(directory);
    assert!(!files.is_empty(), "no workflow in {directory}");
    let wrong: Vec<String> = files.iter().filter_map(|path| compare(path)).collect();
    let count = files.len();
    assert!(
        wrong.is_empty(),
        "{} of {count} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_mistake_is_named_at_its_place() {
    check_all("../../tests/cases/invalid");
    check_all("tests/cases/invalid");
}

#[test]
fn every_doubt_is_named_at_its_place() {
    check_all("../../tests/cases/warnings");
    check_all("tests/cases/warnings");
}
