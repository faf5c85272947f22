//! Plays the cases below `cases/`: files, then calls with the expected answers and effects.
//!
//! After every call, the whole room is compared with its previous state: every change must be among the writes in the
//! call's facts, and a failed call must not have changed anything.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(clippy::panic, reason = "a failed test panics")]

#[path = "support/room.rs"]
mod room;

use std::{collections::BTreeMap, fs, path::Path};

use interlock_core::call::CallFacts;
use interlock_tools::{Deed, ToolEnd};
use room::{Room, named, policy};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it demonstrates.
    #[expect(dead_code, reason = "for whoever reads the case")]
    about: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The tools of the state, for shell lines.
    state: Option<Vec<String>>,
    result_bytes: Option<usize>,
    steps: Vec<Step>,
    /// Files and their whole content at the end; `null` if missing.
    #[serde(default)]
    after: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// A call of this tool.
    tool: Option<String>,
    #[serde(default)]
    arguments: Value,
    /// Its code; without one, it must succeed.
    code: Option<String>,
    /// The complete text.
    text: Option<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    exit: Option<i64>,
    /// The read and written paths in its facts; `protected` if it touches something protected.
    reads: Option<Vec<String>>,
    writes: Option<Vec<String>>,
    lines: Option<u64>,
    protected: Option<bool>,
    malformed: Option<bool>,
    /// Files created or replaced by somebody else before the call.
    #[serde(default)]
    meanwhile: BTreeMap<String, String>,
    /// The same, but after the call was judged.
    #[serde(default)]
    between: BTreeMap<String, String>,
}

fn case(path: &Path) -> datatest_stable::Result<()> {
    let case: Case = serde_saphyr::from_str(&fs::read_to_string(path)?)?;
    let mut room = Room::new();
    if let Some(tools) = &case.state {
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        room.policy = policy(&tools);
    }
    if let Some(bytes) = case.result_bytes {
        room.result_bytes_max = bytes;
    }
    // Links may point to later files.
    for (name, content) in &case.files {
        room.make(name, content);
    }
    for (number, step) in case.steps.iter().enumerate() {
        play(&room, step, number + 1);
    }
    for (name, content) in &case.after {
        let found = fs::read_to_string(room.path.join(name)).ok();
        assert_eq!(
            found,
            content.as_ref().map(|text| room.fill(text)),
            "{name}"
        );
    }
    Ok(())
}

fn play(room: &Room, step: &Step, number: usize) {
    put(room, &step.meanwhile);
    let Some(name) = &step.tool else {
        return;
    };
    let tool = named(name);
    let input: Value = serde_json::from_str(&room.fill(&step.arguments.to_string())).unwrap();
    let arguments = interlock_tools::Arguments::of(input).unwrap();
    let call = room.proposed(tool, &arguments);
    check_facts(room, step, &call.facts, number);
    put(room, &step.between);
    let before = room.tree();
    let end = room.run(tool, &arguments, &call.facts);
    check_end(room, step, &end, number);
    check_tree(room, &before, &call.facts, &end, number);
    if tool.deed() == Deed::Reads {
        assert_eq!(room.tree(), before, "step {number}: a reading call wrote");
    }
}

fn put(room: &Room, files: &BTreeMap<String, String>) {
    for (name, content) in files {
        let path = room.path.join(name);
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            let _ = fs::remove_file(&path);
        }
        if content != "<gone>" {
            room.make(name, content);
        }
    }
}

fn check_facts(room: &Room, step: &Step, facts: &CallFacts, number: usize) {
    if let Some(reads) = &step.reads {
        let wanted: Vec<String> = reads.iter().map(|path| room.fill(path)).collect();
        assert_eq!(facts.reads, wanted, "step {number}: reads");
    }
    if let Some(writes) = &step.writes {
        let wanted: Vec<String> = writes.iter().map(|path| room.fill(path)).collect();
        let found: Vec<String> = facts.writes.iter().filter_map(|w| w.path.clone()).collect();
        assert_eq!(found, wanted, "step {number}: writes");
    }
    if let Some(lines) = step.lines {
        assert_eq!(facts.edit_lines, Some(lines), "step {number}: lines");
    }
    if let Some(protected) = step.protected {
        assert_eq!(
            facts.protected.is_some(),
            protected,
            "step {number}: {facts:?}"
        );
    }
    if let Some(malformed) = step.malformed {
        assert_eq!(
            facts.malformed.is_some(),
            malformed,
            "step {number}: {facts:?}"
        );
    }
}

fn check_end(room: &Room, step: &Step, end: &ToolEnd, number: usize) {
    let code = end.code.map(|code| code.as_str().to_owned());
    assert_eq!(code, step.code, "step {number}: {}", end.text);
    assert_eq!(end.ok, step.code.is_none(), "step {number}");
    if let Some(text) = &step.text {
        assert_eq!(end.text, room.fill(text), "step {number}");
    }
    for part in &step.has {
        let part = room.fill(part);
        assert!(
            end.text.contains(&part),
            "step {number}: no {part:?} in:\n{}",
            end.text
        );
    }
    for part in &step.lacks {
        let part = room.fill(part);
        assert!(
            !end.text.contains(&part),
            "step {number}: {part:?} in:\n{}",
            end.text
        );
    }
    if step.exit.is_some() {
        assert_eq!(end.exit, step.exit, "step {number}");
    }
    assert!(!end.text.contains("panicked"), "{}", end.text);
}

/// Every change must be in the facts, and a failed call of a file tool must not change anything.
fn check_tree(
    room: &Room,
    before: &BTreeMap<String, String>,
    facts: &CallFacts,
    end: &ToolEnd,
    number: usize,
) {
    let after = room.tree();
    let names = before.keys().chain(after.keys());
    for name in names.filter(|name| before.get(*name) != after.get(*name)) {
        if !end.ok && facts.shell.is_none() {
            panic!("step {number}: a failed call changed {name}");
        }
        let said = facts.writes.iter().any(|write| {
            let path = write.path.as_deref().unwrap_or("/");
            // A missing directory is created with its file.
            path == name || path.starts_with(&format!("{name}/")) && !before.contains_key(name)
        });
        let opaque = facts.shell.as_ref().is_some_and(|shell| {
            shell
                .commands
                .iter()
                .any(|command| command.opaque.is_some())
        });
        assert!(
            said || opaque,
            "step {number}: {name} changed, and its facts say {:?}",
            facts.writes
        );
        let told = facts.shell.is_some()
            || end
                .wrote
                .iter()
                .any(|wrote| wrote == name || wrote.starts_with(&format!("{name}/")));
        assert!(
            told,
            "step {number}: {name} changed, and the end does not say so"
        );
    }
}

datatest_stable::harness! {
    { test = case, root = "tests/cases", pattern = r".*\.yaml$" },
}
