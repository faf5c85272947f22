//! FlowState files: what is said about those that are not in order, and what the others become.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod lowering;
mod reading;

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{Diagnostic, Loaded, Severity, Source, Workflows, check, load, render};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/flowstate");

/// The files beside the cases, as a project's folder holds them.
struct Folder;

impl Workflows for Folder {
    fn find(&self, id: &str) -> Option<Result<Source, String>> {
        read(
            &Path::new(CASES).join("files").join(format!("{id}.yaml")),
            &format!("{id}.yaml"),
        )
    }

    fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        match wanted.split_once('/') {
            None => self.find(wanted),
            Some(("@", rest)) => self.find(rest.strip_suffix(".yaml")?),
            // The case itself.
            Some((".", rest)) if rest == from.name => Some(Ok(from.clone())),
            Some((".", rest)) => self.find(rest.strip_suffix(".yaml")?),
            _ => None,
        }
    }
}

fn read(path: &Path, name: &str) -> Option<Result<Source, String>> {
    let text = fs::read_to_string(path).ok()?;
    Some(Ok(Source::new(name, text)))
}

/// Loads a workflow that is in order.
fn loaded(text: &str) -> Loaded {
    load(&Source::new("case.yaml", text), None, &Folder)
        .unwrap_or_else(|found| panic!("{}", render(&found, false)))
}

/// Returns the codes of everything said about a workflow, with lines and columns.
fn said(name: &str, text: &str) -> Vec<String> {
    let found = check(&Source::new(name, text), &Folder);
    found
        .iter()
        .map(|found| format!("{}:{} {}", found.line, found.column, found.code))
        .collect()
}

/// Writes what was found as `.expect` files have it.
fn shown(found: &Diagnostic) -> String {
    let file = if found.file.contains("case.") {
        ""
    } else {
        found.file.as_str()
    };
    let at = if file.is_empty() {
        String::new()
    } else {
        format!("{file}:")
    };
    format!(
        "{at}{}:{} {} {}: {}{}",
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
    assert!(cases.len() > 20, "too few cases in {kind}");
    for path in cases {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), &Folder);
        let lines: String = said
            .iter()
            .map(|found| shown(found).replace(&format!("{name}:"), "") + "\n")
            .collect();
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
