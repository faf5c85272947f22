//! The targets of `fuzz`, built as plain functions and run with a few seeds: they still fit changes of the engine.
//!
//! `cargo xtask fuzz` searches further, guided by coverage.

use std::{fs, path::Path};

use interlock_simulate::cases::find_case_files;
use interlock_testkit::sample;

#[path = "../../../fuzz/fuzz_targets/edit.rs"]
mod edit;
#[path = "../../../fuzz/fuzz_targets/hook_input.rs"]
mod hook_input;
#[path = "../../../fuzz/fuzz_targets/play.rs"]
mod play;
#[path = "../../../fuzz/fuzz_targets/shell.rs"]
mod shell;
#[path = "../../../fuzz/fuzz_targets/template.rs"]
mod template;
#[path = "../../../fuzz/fuzz_targets/workflow.rs"]
mod workflow;

/// One in this many case files is a seed, others each day.
const SEEDS: usize = 60;
/// One in this many lines of shell is a seed.
const LINES: usize = 10;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn texts() -> Vec<String> {
    let files = find_case_files(&root().join("tests/cases")).unwrap();
    let todays = files.iter().enumerate();
    let todays = todays.filter(|(index, _)| sample::has(*index, SEEDS));
    todays
        .map(|(_, file)| fs::read_to_string(file).unwrap())
        .collect()
}

#[test]
fn workflows_templates_and_cases_are_within_their_bounds() {
    let texts = texts();
    assert!(texts.len() >= 8, "{} seeds", texts.len());
    for text in &texts {
        workflow::run(text);
        edit::run(text);
        play::run(text);
        let blocks = text.lines().filter(|line| line.contains("{{"));
        blocks.for_each(|line| template::run(line.trim()));
        // Cut anywhere, as the fuzzing engine would.
        let half = text.get(..text.len() / 2).unwrap_or_default();
        workflow::run(half);
        edit::run(half);
        play::run(half);
    }
}

#[test]
fn lines_and_inputs_of_hooks_are_within_their_bounds() {
    let lines = fs::read_to_string(root().join("tests/shell/tricks.txt")).unwrap();
    for row in lines.lines().step_by(LINES) {
        let line = row.split(" ⇒").next().unwrap_or(row);
        shell::run(line);
        let input = serde_json::json!({
            "session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "permission_mode": "default",
            "tool_use_id": "t", "tool_name": "Bash", "tool_input": { "command": line },
        });
        let input = input.to_string();
        hook_input::run(input.as_bytes());
        hook_input::run(input.as_bytes().get(..input.len() / 2).unwrap_or_default());
    }
}

/// The targets' interface to their engine, `libfuzzer_sys`, which this program replaces.
macro_rules! fuzz_target {
    (|$input:ident: $of:ty| $body:block) => {
        pub(crate) fn run($input: $of) $body
    };
}
pub(crate) use fuzz_target;
