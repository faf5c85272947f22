//! Pipelines: the diagnostics of invalid ones, and the machines of the others.

mod lowering;

use std::{fs, path::Path};

use interlock_formats::{Loaded, Source, Workflows, check, load, render};

use crate::support::corpus;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/pipeline");

/// The files beside the cases, as in a project's folder.
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

/// Loads a valid pipeline.
fn loaded(name: &str, text: &str) -> Loaded {
    load(&Source::new(name, text), None, &Folder)
        .unwrap_or_else(|found| panic!("{}", render(&found, false)))
}

#[test]
fn every_mistake_is_named_at_its_place() {
    corpus::compare(CASES, "invalid", &Folder, true);
}

#[test]
fn every_doubt_is_named_at_its_place() {
    corpus::compare(CASES, "warnings", &Folder, false);
    for path in corpus::cases(CASES, "warnings") {
        let said = fs::read_to_string(path.with_extension("expect")).unwrap();
        assert!(!said.is_empty(), "nothing is said about {}", path.display());
    }
}

#[test]
fn the_pipelines_in_order_are_clean() {
    for path in corpus::cases(CASES, "valid") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let said = check(&Source::new(name.clone(), text), &Folder);
        assert!(said.is_empty(), "{}", render(&said, false));
    }
}
