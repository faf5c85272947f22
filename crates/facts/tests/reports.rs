//! Test reports as real tools write them, and texts that only look like reports.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use interlock_core::substance::{ReportFormat, ReportProblem};
use interlock_facts::{TestOutcome, TestReport, read_report};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports")
}

/// Returns the reports in a folder, sorted.
fn reports(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| format_of(path).is_some());
    found.sort();
    found
}

fn format_of(path: &Path) -> Option<ReportFormat> {
    Some(match path.extension()?.to_str()? {
        "xml" => ReportFormat::Junit,
        "tap" => ReportFormat::Tap,
        "json" => ReportFormat::Json,
        _ => return None,
    })
}

fn read(path: &Path) -> Result<TestReport, ReportProblem> {
    let bytes = fs::read(path).unwrap();
    read_report(format_of(path).unwrap(), &[bytes]).map_err(|failure| failure.code)
}

/// Writes a report with one line per test.
fn written(report: &TestReport) -> String {
    let Value::Object(tests) = serde_json::to_value(report).unwrap() else {
        return String::new();
    };
    tests
        .iter()
        .map(|(name, outcome)| format!("{} {name}\n", outcome.as_str().unwrap()))
        .collect()
}

#[test]
fn every_tool_is_read() {
    let mut wrong = Vec::new();
    for path in reports(&folder()) {
        let expected = fs::read_to_string(path.with_extension(format!(
            "{}.expect",
            path.extension().unwrap().to_str().unwrap()
        )))
        .unwrap_or_default();
        let found = read(&path).map_or_else(
            |problem| problem.as_str().to_owned(),
            |report| written(&report),
        );
        if found != expected {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_report_says_why() {
    let all = reports(&folder().join("refused"));
    assert!(all.len() > 15, "{all:?}");
    for path in all {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (wanted, _) = name.split_once('.').unwrap();
        let found = read(&path).map_err(ReportProblem::as_str);
        assert_eq!(found.err(), Some(wanted), "{name}");
    }
}

#[test]
fn a_report_cut_anywhere_is_none_or_ends_where_it_may() {
    for path in reports(&folder()) {
        let bytes = fs::read(&path).unwrap();
        let whole = read(&path).unwrap();
        let format = format_of(&path).unwrap();
        let end = bytes.trim_ascii_end().len();
        for cut in (0..end).step_by(7).filter(|cut| *cut + 1 < end) {
            let Ok(part) = read_report(format, &[bytes.get(..cut).unwrap().to_vec()]) else {
                continue;
            };
            // TAP is complete once its plan is fulfilled: only comments may follow.
            assert_eq!(format, ReportFormat::Tap, "{} cut at {cut}", path.display());
            assert_eq!(part, whole, "{} cut at {cut}", path.display());
        }
    }
}

#[test]
fn tests_that_ran_before_are_missed_by_name() {
    let report = |tests: &[(&str, TestOutcome)]| {
        let tests = tests
            .iter()
            .map(|(name, outcome)| ((*name).to_owned(), *outcome));
        TestReport::of(tests).unwrap()
    };
    use TestOutcome::{Failed, Passed, Skipped};
    let before = report(&[("a", Passed), ("b", Failed), ("c", Skipped), ("d", Passed)]);
    let after = report(&[
        ("a", Passed),
        ("d", Skipped),
        ("new", Passed),
        ("other", Skipped),
    ]);
    let counts = after.counts(Some(&before));
    let against = counts.against.unwrap();
    assert_eq!(against.baseline, before.digest());
    assert_eq!(against.gone.names, ["b"]);
    assert_eq!(against.skipped.names, ["d", "other"]);
    assert_eq!((counts.passed, counts.failed, counts.skipped), (2, 0, 2));
}

#[test]
fn tests_of_one_name_are_told_apart() {
    let twice = [
        ("a".to_owned(), TestOutcome::Passed),
        ("a".to_owned(), TestOutcome::Passed),
    ];
    let before = TestReport::of(twice.clone()).unwrap();
    let after = TestReport::of(twice.into_iter().take(1)).unwrap();
    assert_eq!(
        after.counts(Some(&before)).against.unwrap().gone.names,
        ["a #2"]
    );
}

/// A TAP result: the words before and after a name, and the status.
type TapResult = (&'static str, &'static str, &'static str);

const RESULTS: [TapResult; 4] = [
    ("ok", "", "passed"),
    ("not ok", "", "failed"),
    ("ok", " # SKIP", "skipped"),
    ("not ok", " # TODO later", "skipped"),
];

/// Lists the combinations of results of up to two tests on one level.
fn levels() -> Vec<Vec<TapResult>> {
    let mut found = vec![Vec::new()];
    for one in RESULTS {
        found.push(vec![one]);
        found.extend(RESULTS.map(|two| vec![one, two]));
    }
    found
}

#[test]
fn a_test_with_tests_below_it_is_what_they_are_and_what_it_says_of_itself() {
    for (word, directive, outcome) in RESULTS {
        for (below, is_block) in levels()
            .iter()
            .flat_map(|below| [(below, false), (below, true)])
        {
            // Text after the name of a block is not a directive.
            if is_block && (below.is_empty() || !directive.is_empty()) {
                continue;
            }
            let mut inner = String::new();
            let mut expected = BTreeSet::new();
            for (number, (word, directive, outcome)) in (1..).zip(below) {
                inner += &format!("    {word} {number} - t{number}{directive}\n");
                expected.insert(format!("{outcome} outer > t{number}"));
            }
            if !below.is_empty() {
                inner += &format!("    1..{}\n", below.len());
            }
            let fails = below.iter().any(|(.., inner)| *inner == "failed");
            if below.is_empty() {
                expected.insert(format!("{outcome} outer"));
            } else if outcome == "skipped" || (outcome == "failed" && !fails) {
                expected.insert(format!("{outcome} outer (as a whole)"));
            }
            let text = if is_block {
                format!("1..1\n{word} 1 - outer {{\n{inner}}}\n")
            } else {
                format!("{inner}{word} 1 - outer{directive}\n1..1\n")
            };
            let report = read_report(ReportFormat::Tap, &[text.clone().into_bytes()]).unwrap();
            let found: BTreeSet<String> = written(&report).lines().map(str::to_owned).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
