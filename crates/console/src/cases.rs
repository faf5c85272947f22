//! Finds the test files of a workflow, and plays their cases on a text of it.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use interlock_core::machine::Machine;
use interlock_simulate::{
    Scenario,
    cases::{Case, CaseFile, Step, WorkflowText, find_case_files},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::bounded::Bounded;

/// Maximum number of files that are considered.
const FILES_MAX: usize = 200;
/// Maximum size in bytes of a file that is read.
const BYTES_MAX: u64 = 2 * 1024 * 1024;

/// A test file for the workflow.
#[derive(Debug, Serialize)]
pub(crate) struct TestFile {
    file: String,
    /// The error if the file cannot be parsed.
    trouble: Option<String>,
    cases: Vec<Played>,
}

/// A case and its result.
#[derive(Debug, Serialize)]
struct Played {
    name: String,
    /// The beginning of the run.
    begun: Value,
    /// Its steps, as lines with an optional `expect`.
    steps: Vec<Value>,
    /// The first step with an unexpected answer, counted from 1; `None` if all were as expected.
    failed: Option<usize>,
    differences: Vec<String>,
}

/// Lists the test files for a workflow beside its file, and plays their cases.
pub(crate) fn of(workflow: &Path, library: &Bounded<'_>, machine: &Machine) -> Vec<TestFile> {
    let Some(own) = workflow.canonicalize().ok() else {
        // A shipped workflow has no file.
        return Vec::new();
    };
    let folder = workflow.parent().unwrap_or(workflow);
    let files = find_case_files(folder).unwrap_or_default();
    let within = files.into_iter().take(FILES_MAX);
    within
        .filter(|file| library.holds(file))
        .filter_map(|file| read(&file, &own, machine))
        .collect()
}

/// Reads a test file; returns `None` if it is for another workflow.
fn read(file: &Path, own: &Path, machine: &Machine) -> Option<TestFile> {
    let shown = file.display().to_string();
    let trouble = |trouble: String| TestFile {
        file: shown.clone(),
        trouble: Some(trouble),
        cases: Vec::new(),
    };
    let read = text(file).ok()?;
    let Ok(found) = CaseFile::parse(&read) else {
        // If the file cannot be parsed, only its name tells which workflow it tests.
        let why = CaseFile::parse(&read).err().map(|error| error.0);
        return why.filter(|_| is_named_alike(file, own)).map(trouble);
    };
    let WorkflowText::File(relative) = &found.workflow else {
        return None;
    };
    let named = file.with_file_name(relative).canonicalize().ok()?;
    (named == own).then(|| TestFile {
        file: shown.clone(),
        trouble: None,
        cases: found.cases.iter().map(|case| play(case, machine)).collect(),
    })
}

fn text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let opened = fs::File::open(file)?;
    if opened.metadata()?.len() > BYTES_MAX {
        return Err(std::io::Error::other("too long"));
    }
    opened.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns whether a file is named `NAME.test.yaml`, where `own` is named `NAME.yaml`.
fn is_named_alike(file: &Path, own: &Path) -> bool {
    let stem = |path: &Path| path.file_stem().map(PathBuf::from);
    let inner = stem(file).as_deref().and_then(stem);
    inner == stem(own)
}

fn play(case: &Case, machine: &Machine) -> Played {
    let outcome = case.play(machine, &Scenario::default());
    let (failed, differences) = outcome.failure.map_or((None, Vec::new()), |failure| {
        (Some(failure.step), failure.differences)
    });
    Played {
        name: case.name.clone(),
        begun: json!({
            "conversation": case.input,
            "level": case.level.map(interlock_sandbox::Level::as_str),
        }),
        steps: case.steps.iter().map(line).collect(),
        failed,
        differences,
    }
}

/// Writes a step as a line with its expectation.
fn line(step: &Step) -> Value {
    // The text was written from a JSON value, so it can be parsed.
    let mut line: Value = serde_json::from_str(&step.shown).unwrap_or_default();
    if let (Some(fields), false) = (line.as_object_mut(), step.expect.is_empty()) {
        fields.insert("expect".to_owned(), Value::Object(step.expect.clone()));
    }
    line
}
