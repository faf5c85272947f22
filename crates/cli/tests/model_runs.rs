//! Workflows whose states call models, run by the built program against scripted models of two providers, as the files
//! below `tests/cases/model-runs` say.
//!
//! See `tests/cases/README.md` for the form of a case.

mod case;
mod check;
mod play;
mod script;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use case::Case;
use interlock_testkit::sample;

use crate::support::case_file;

const WORKERS: usize = 4;
/// Minimum number of pipelines: with fewer, cases are no longer found.
const PIPELINES_MIN: usize = 80;
const CODEMIE_MIN: usize = 120;
const EXAMPLES_MIN: usize = 5;
/// In this many days each file is played once. It is odd, so that in twice as many each of two providers has its turn.
const PARTS: usize = 3;

/// Plays every case of a folder below `tests/cases/model-runs`, several at once.
///
/// To play one area or case alone: `INTERLOCK_CASES=grant cargo test -p interlock --test integration model_runs::`.
fn each(area: &str, cases_min: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/cases/model-runs")
        .join(area);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    let wanted = std::env::var("INTERLOCK_CASES").ok();
    if let Some(wanted) = &wanted {
        files.retain(|file| file.to_string_lossy().contains(wanted));
    } else {
        assert!(files.len() >= cases_min, "only {} cases", files.len());
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else {
                break;
            };
            if wanted.is_none() && !sample::has(number, PARTS) {
                continue;
            }
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            let found = match Case::read(&fs::read_to_string(file).unwrap()) {
                Ok(case) => play::with_todays_providers(&case, number),
                Err(error) => vec![format!("is not a case: {error}")],
            };
            wrong.extend(found.iter().map(|found| format!("{name}: {found}")));
        }
        wrong
    };
    let mut wrong: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().map(|worker| worker.join().unwrap());
        found.flatten().collect()
    });
    wrong.sort();
    let count = wrong.len();
    assert!(
        wrong.is_empty(),
        "{count} differences:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_pipeline_runs_as_its_case_says() {
    each("pipeline", PIPELINES_MIN);
}

#[test]
fn every_codemie_file_runs_as_its_case_says() {
    each("codemie", CODEMIE_MIN);
}

#[test]
fn every_example_runs_as_its_case_says() {
    each("examples", EXAMPLES_MIN);
}
