//! Pipelines: what is said about those that are not in order, and what the others become.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod lowering;

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_formats::{Diagnostic, Loaded, Severity, Source, Workflows, check, load, render};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/pipeline");

/// The files beside the cases, as a project's folder holds them.
struct Folder;

impl Workflows for Folder {
    fn find(&self, _id: &str) -> Option<Result<Source, String>> {
        None
    }

    fn resolve(&self, _from: &Source, wanted: &str) -> Option<Result<Source, String>> {
        let name = wanted.strip_prefix("./")?;
        let bytes = fs::read(Path::new(CASES).join("files").join(name)).ok()?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("byte {at} is not UTF-8")
        });
        Some(text.map(|text| Source::new(name, text)))
    }
}

/// Loads a pipeline that is in order.
fn loaded(name: &str, text: &str) -> Loaded {
    load(&Source::new(name, text), None, &Folder)
        .unwrap_or_else(|found| panic!("{}", render(&found, false)))
}

/// Returns the cases of a folder, in order.
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

/// Writes what was found as `.expect` files have it.
fn shown(found: &Diagnostic, case: &str) -> String {
    let file = if found.file == case {
        String::new()
    } else {
        format!("{}:", found.file)
    };
    let help = found.help.as_ref();
    format!(
        "{file}{}:{} {} {}: {}{}\n",
        found.line,
        found.column,
        found.severity,
        found.code,
        found.message,
        help.map_or_else(String::new, |help| format!(" | {help}")),
    )
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
        let said = check(&Source::new(name.clone(), text), &Folder);
        let lines: String = said.iter().map(|found| shown(found, &name)).collect();
        let expect = path.with_extension("expect");
        if bless {
            fs::write(&expect, &lines).unwrap();
        }
        let wanted = fs::read_to_string(&expect).unwrap_or_default();
        let fails = said.iter().any(|found| found.severity == Severity::Error);
        if lines != wanted || fails != wants_errors || lines.is_empty() {
            wrong.push(format!("== {name}\nwanted:\n{wanted}said:\n{lines}"));
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
fn the_pipelines_in_order_are_clean() {
    for path in cases("valid") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), &Folder);
        assert!(said.is_empty(), "{}", render(&said, false));
    }
}
