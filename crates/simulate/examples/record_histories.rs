//! Records runs of the cases until each event stands in one: its events, a line each, then the run they fold to.
//!
//! `cargo run -p interlock-simulate --example record_histories` adds files to `tests/histories` for
//! the events that no file there has, and prints those that no case brings about.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a chore for developers"
)]

#[path = "../../core/tests/support/event_names.rs"]
mod event_names;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use event_names::event_names;
use interlock_core::{event::Event, evolve, names::RunId, run::Run};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{
    Scenario,
    cases::{CaseFile, WorkflowText, find_case_files},
};

/// The version of the log that is written today.
const VERSION: u32 = 2;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let histories = root.join("tests/histories");
    let mut missing = event_names();
    for event in recorded(&histories) {
        missing.remove(event.name());
    }
    let mut runs: Vec<Vec<Event>> = Vec::new();
    for folder in ["tests/cases", "workflows"] {
        for path in find_case_files(&root.join(folder)).expect("the cases can be listed") {
            runs.extend(played(&path));
        }
    }
    // Short ones are read and replayed sooner.
    runs.sort_by_key(Vec::len);
    while let Some(name) = missing.first().copied() {
        let Some(run) = runs
            .iter()
            .find(|run| run.iter().any(|event| event.name() == name))
        else {
            println!("no case brings about {name}");
            missing.remove(name);
            continue;
        };
        for event in run {
            missing.remove(event.name());
        }
        let path = histories.join(format!("v{VERSION}-{name}.jsonl"));
        fs::write(&path, written(run)).expect("the history can be written");
        println!("{}", path.display());
    }
}

fn recorded(histories: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    for entry in fs::read_dir(histories).expect("the histories can be listed") {
        let path = entry.expect("the histories can be listed").path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a history can be read");
        let lines: Vec<&str> = text.lines().collect();
        let (_, lines) = lines.split_last().expect("a history is not empty");
        let read = lines.iter().map(|line| serde_json::from_str::<Event>(line));
        events.extend(read.map(|event| event.expect("an event is JSON")));
    }
    events
}

fn played(path: &PathBuf) -> Vec<Vec<Event>> {
    let text = fs::read_to_string(path).expect("a case can be read");
    let Ok(file) = CaseFile::parse(&text) else {
        return Vec::new();
    };
    let source = match &file.workflow {
        WorkflowText::Inline(text) => Source::new(path.display().to_string(), text.clone()),
        WorkflowText::File(relative) => {
            let path = path.with_file_name(relative);
            let text = fs::read_to_string(&path).expect("a workflow can be read");
            Source::new(path.display().to_string(), text)
        }
    };
    let Ok(loaded) = load(&source, None, &NoWorkflows) else {
        return Vec::new();
    };
    let setting = Scenario::default();
    let cases = file.cases.iter();
    cases
        .map(|case| case.recorded(&loaded.machine, &setting))
        .collect()
}

fn written(events: &[Event]) -> String {
    let mut text = String::new();
    let mut run = Run::new(RunId::new("r"));
    for event in events {
        let line = serde_json::to_string(event).expect("an event is JSON");
        writeln!(text, "{line}").expect("memory suffices");
        run = evolve(run, event);
    }
    let run = serde_json::to_string(&run).expect("a run is JSON");
    writeln!(text, "{run}").expect("memory suffices");
    text
}
