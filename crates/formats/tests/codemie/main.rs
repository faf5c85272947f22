//! CodeMie files: what is said about those that are not in order.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod reading;

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{Diagnostic, Severity, Source, Workflows, check, check_strictly, render};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/codemie");

/// A configuration in which little is defined.
struct Configuration;

impl Workflows for Configuration {
    fn find(&self, _id: &str) -> Option<Result<Source, String>> {
        None
    }

    fn entries(&self, table: &str) -> Option<Vec<String>> {
        let ids: &[&str] = match table {
            "assistants" => &["reviewer"],
            "datasources" => &["handbook"],
            "integrations" => &["prod-db"],
            "mcp_servers" => &["shared"],
            "skills" => &[],
            _ => return None,
        };
        Some(ids.iter().map(|id| (*id).to_owned()).collect())
    }
}

/// Returns the codes of everything said about a workflow, with lines and columns.
fn said(text: &str, strict: bool) -> Vec<String> {
    let source = Source::new("case.yaml", text);
    let found = if strict {
        check_strictly(&source, &Configuration)
    } else {
        check(&source, &Configuration)
    };
    found
        .iter()
        .map(|found| {
            format!(
                "{}:{} {} {}",
                found.line, found.column, found.severity, found.code
            )
        })
        .collect()
}

/// Writes what was found as `.expect` files have it.
fn shown(found: &Diagnostic) -> String {
    format!(
        "{}:{} {} {}: {}{}",
        found.line,
        found.column,
        found.severity,
        found.code,
        found.message,
        found
            .help
            .as_ref()
            .map_or_else(String::new, |help| format!(" | {help}")),
    )
}

fn cases(kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(Path::new(CASES).join(kind))
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

/// Compares everything said about each case with the file beside it.
///
/// `INTERLOCK_BLESS=1` writes the files anew, to be read before they are kept.
fn compare(kind: &str, wants_errors: bool) {
    let bless = std::env::var_os("INTERLOCK_BLESS").is_some();
    let mut wrong = Vec::new();
    let cases = cases(kind);
    assert!(cases.len() > 10, "too few cases in {kind}");
    for path in cases {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), &Configuration);
        let lines: String = said.iter().map(|found| shown(found) + "\n").collect();
        let expect = path.with_extension("expect");
        if bless {
            fs::write(&expect, &lines).unwrap();
        }
        let wanted = fs::read_to_string(&expect).unwrap_or_default();
        let fails = said.iter().any(|found| found.severity == Severity::Error);
        if lines != wanted || fails != wants_errors {
            wrong.push(format!(
                "== {name}\nwanted:\n{wanted}said:\n{lines}{}",
                render(&said, false)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_mistake_is_named_at_its_place() {
    compare("invalid", true);
}

#[test]
fn every_doubt_is_named_at_its_place() {
    compare("warnings", false);
}

#[test]
fn files_in_order_have_no_errors() {
    for path in cases("files") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), &Configuration);
        let errors: Vec<String> = said
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(shown)
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}
