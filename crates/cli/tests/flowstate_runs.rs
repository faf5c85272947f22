//! Workflows of steps, run by the shipped program: the cases below `tests/cases/flowstate/runs`.

mod case;
mod play;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use case::Case;
use interlock_testkit::{interlock::Interlock, room::Room, sample};
use play::play;

use crate::support::case_file;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKERS: usize = 4;
/// With fewer, the cases were not found.
const CASES_MIN: usize = 120;
/// In this many days each file is played once; `cargo xtask soak` plays all.
const PARTS: usize = 2;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/cases/flowstate")
        .join(name)
}

/// Returns the files below `folder` with this ending, sorted.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Runs `check` on every file, several at once, and panics with everything it found.
fn each(files: &[PathBuf], check: impl Fn(&Path) -> Vec<String> + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = file.file_stem().unwrap().to_string_lossy();
            let area = file.parent().and_then(Path::file_name).unwrap();
            let found = check(file);
            wrong.extend(
                found
                    .iter()
                    .map(|found| format!("{}/{name}: {found}", area.to_string_lossy())),
            );
        }
        wrong
    };
    let mut wrong: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Returns the files that are played today.
fn todays(files: &[PathBuf]) -> Vec<PathBuf> {
    let todays = files.iter().enumerate();
    let todays = todays.filter(|(index, _)| sample::has(*index, PARTS));
    todays.map(|(_, file)| file.clone()).collect()
}

#[test]
fn every_case_runs_as_it_says() {
    let mut files = files(&folder("runs"), ".yaml");
    // A single area or case: `INTERLOCK_CASES=for-each cargo test -p interlock --test integration flowstate_runs::`.
    if let Ok(wanted) = std::env::var("INTERLOCK_CASES") {
        files.retain(|file| file.to_string_lossy().contains(&wanted));
    } else {
        assert!(files.len() >= CASES_MIN, "only {} cases", files.len());
        files = todays(&files);
    }
    each(&files, |file| {
        match Case::read(&fs::read_to_string(file).unwrap()) {
            Ok(case) => play(INTERLOCK, &case),
            Err(error) => vec![format!("is not a case: {error}")],
        }
    });
}

#[test]
fn what_is_not_in_order_is_never_run() {
    let beside = files(&folder("files"), ".yaml");
    each(&todays(&files(&folder("invalid"), ".yaml")), |file| {
        let room = Room::new().unwrap();
        let interlock = Interlock::new(INTERLOCK, &room);
        for file in &beside {
            let name = file.file_name().unwrap().to_string_lossy();
            fs::copy(file, room.write(&name, "").unwrap()).unwrap();
        }
        let name = file.file_name().unwrap().to_string_lossy();
        fs::copy(file, room.write(&name, "").unwrap()).unwrap();
        let output = interlock.run(&["run", &name, "--name", "n"]).unwrap();
        let mut wrong = Vec::new();
        if output.status.code() != Some(1) || !output.stdout.is_empty() {
            wrong.push(format!("{output:?}"));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = fs::read_to_string(file.with_extension("expect")).unwrap();
        for line in expected.lines() {
            // `LINE:COLUMN error …`, or with a file before it.
            let Some((at, _)) = line.split_once(" error ") else {
                continue;
            };
            if !said.contains(&format!(":{at}")) && !said.contains(at) {
                wrong.push(format!("nothing is said of {at}: {said}"));
            }
        }
        let runs = interlock.run(&["list", "--all", "--json"]).unwrap();
        if String::from_utf8_lossy(&runs.stdout).contains("\"n\"") {
            wrong.push("a run was made".to_owned());
        }
        wrong
    });
}
