//! FlowState files: the diagnostics of invalid ones, and the machines of the others.

mod lowering;
mod reading;

use std::{fs, path::Path};

use interlock_formats::{Loaded, Source, Workflows, check, load, render};

use crate::support::{corpus, mutations};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/flowstate");

/// The files beside the cases, as in a project's folder.
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

/// Loads a valid workflow.
fn loaded(text: &str) -> Loaded {
    load(&Source::new("case.yaml", text), None, &Folder)
        .unwrap_or_else(|found| panic!("{}", render(&found, false)))
}

/// Returns the codes of a workflow's diagnostics, with lines and columns.
fn said(name: &str, text: &str) -> Vec<String> {
    let found = check(&Source::new(name, text), &Folder);
    found
        .iter()
        .map(|found| format!("{}:{} {}", found.line, found.column, found.code))
        .collect()
}

#[test]
fn every_mistake_is_named_at_its_place() {
    corpus::compare(CASES, "invalid", &Folder, true);
}

#[test]
fn every_doubt_is_named_at_its_place() {
    corpus::compare(CASES, "warnings", &Folder, false);
}
