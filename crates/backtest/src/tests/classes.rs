//! Compares the answer to each call with the answer to the first call of its class, at many nodes of each workflow.

use std::{collections::BTreeMap, fs};

use interlock_core::machine::Machine;
use interlock_sessions::{Session, join, read};
use interlock_simulate::Scenario;
use interlock_testkit::sample;
use serde_json::{Value, json};

use super::{call, odd, root, session, shipped};
use crate::{
    calls::{Calls, JudgedCall},
    follow::{asked, performed},
    nodes::Nodes,
    options::Options,
    verdict::Verdict,
};

/// Returns the shell lines that the repository knows: those of agents, tricks, and harmless ones.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for name in ["narrowed", "reading", "suites", "writing"] {
        let path = root().join("tests/habits").join(name);
        let text = fs::read_to_string(path.with_extension("jsonl")).unwrap();
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            lines.push(row["line"].as_str().unwrap().to_owned());
        }
    }
    for name in ["tricks", "harmless"] {
        let path = root().join("tests/shell").join(name);
        let text = fs::read_to_string(path.with_extension("txt")).unwrap();
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let rows = rows.filter_map(|line| line.split(" ⇒").next());
        lines.extend(rows.map(|line| line.replace('⏎', "\n").replace('␉', "\t")));
    }
    lines
}

/// Words that take the place of others in known lines.
const WORDS: [&str; 24] = [
    "zz",
    "src/a.rs",
    "src/schema.sql",
    "-x",
    "--release",
    "--",
    "1",
    "$X",
    "*.rs",
    "..",
    ".env",
    "/etc/hosts",
    "test",
    "git",
    "commit",
    "make",
    "cat",
    "out/junit.xml",
    ">out",
    "PROD_URL=1",
    "CI=1",
    "-n",
    "sub",
    "push",
];

/// Changes some words of a line.
fn changed(line: &str, seed: &mut u64) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    let mut chance = |below: usize| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*seed >> 33).unwrap() % below
    };
    let at = chance(words.len());
    match chance(3) {
        0 => words.insert(at, WORDS[chance(WORDS.len())]),
        _ => words[at] = WORDS[chance(WORDS.len())],
    }
    words.join(" ")
}

/// Returns sessions of made-up calls, and those that clients recorded.
fn sessions() -> Vec<Session> {
    let mut calls = Vec::new();
    let mut seed = 7;
    for (index, line) in lines().into_iter().enumerate() {
        if !sample::has(index, 16) {
            continue;
        }
        for _ in 0..3 {
            calls.push(call("Bash", json!({"command": changed(&line, &mut seed)})));
        }
        calls.push(call("Bash", json!({"command": line})));
    }
    for path in [
        "src/a.rs",
        "src/b.rs",
        "db/schema.sql",
        "db/migrations/1.sql",
        "/etc/hosts",
        "/tmp/x",
        ".env",
        ".git/config",
        ".interlock/config.toml",
        "out/junit.xml",
    ] {
        let path = match path.strip_prefix('/') {
            Some(_) => path.to_owned(),
            None => format!("/project/{path}"),
        };
        for tool in ["Read", "Glob", "LS", "mcp__files__read", "WebFetch", "Task"] {
            calls.push(call(tool, json!({"file_path": path, "path": path})));
        }
        for lines in ["a", "a\nb\nc\nd", ""] {
            let input = json!({"file_path": path, "old_string": lines, "new_string": "b"});
            calls.push(call("Edit", input));
            calls.push(call("Write", json!({"file_path": path, "content": lines})));
        }
    }
    calls.push(call("interlock_transition", json!({"event": "GO"})));
    calls.push(call("interlock_transition", json!({"event": 1})));
    calls.push(call("interlock_get_state", json!({})));
    let mut recorded = Vec::new();
    let mut folders = vec![root().join("crates/sessions/tests/recordings")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                recorded.extend(read(&path.to_string_lossy(), &bytes, None));
            }
        }
    }
    let mut all = join(recorded);
    all.push(session(calls));
    all
}

/// Returns some nodes: those that are reached without a call, and from there by a few calls.
fn some_nodes(nodes: &mut Nodes, calls: &mut Calls, counted: usize) -> Vec<u32> {
    let steps = session(vec![
        call("Bash", json!({"command": "cargo test"})),
        call(
            "Edit",
            json!({"file_path": "/project/src/a.rs", "old_string": "a", "new_string": "b"}),
        ),
        call("Bash", json!({"command": "git push"})),
    ]);
    let steps = calls.of(&steps, &Scenario::default());
    let mut all: Vec<u32> = nodes.start().into_iter().collect();
    let mut at = 0;
    while at < all.len() && all.len() < counted {
        let node = all[at];
        at += 1;
        let free = nodes.free(node);
        let free = free.iter().map(|free| free.to);
        let made = steps
            .iter()
            .filter_map(|call| performed(nodes, node, call, Options::default()));
        let next: Vec<_> = made.map(|(run, _)| run).collect();
        let next: Vec<u32> = next.into_iter().map(|run| nodes.number(run)).collect();
        for to in free.chain(next) {
            if !all.contains(&to) {
                all.push(to);
            }
        }
    }
    all
}

/// Returns the answer of the engine to a call at a node, and where it leads if that is stored.
fn answer(nodes: &mut Nodes, node: u32, call: &JudgedCall) -> String {
    let told = asked(nodes, node, call, Options::default());
    let to = match (told.verdict, told.change) {
        (Verdict::Allow, Some(_)) => performed(nodes, node, call, Options::default()),
        _ => None,
    };
    let to = to.map(|(run, _)| nodes.number(run));
    format!(
        "{:?} {:?} {} {to:?}",
        told.verdict,
        told.code,
        told.change.is_some()
    )
}

#[derive(Debug, Default)]
struct Counts {
    calls: usize,
    classes: usize,
    answers: usize,
}

fn compare(name: &str, machine: &Machine, sessions: &[Session], scenario: &Scenario) -> Counts {
    let mut counts = Counts::default();
    let mut nodes = Nodes::new(machine).unwrap();
    let mut calls = Calls::new(machine);
    let at = some_nodes(&mut nodes, &mut calls, 12);
    let mut first = BTreeMap::new();
    let mut classes = BTreeMap::new();
    for session in sessions {
        for call in calls.of(session, scenario) {
            let call = JudgedCall { bytes: 10, ..call };
            let recorded = &session.calls[call.index];
            counts.calls += 1;
            *classes.entry(call.made.class).or_insert(0) += 1;
            for node in &at {
                let found = answer(&mut nodes, *node, &call);
                counts.answers += 1;
                let key = (call.made.class, *node, call.ok, call.exit);
                let about = format!("{} {}", recorded.tool, recorded.input);
                let (known, known_about) = first
                    .entry(key)
                    .or_insert_with(|| (found.clone(), about.clone()));
                assert_eq!(
                    *known, found,
                    "{name}, node {node}: {known_about} and {about}"
                );
            }
        }
    }
    counts.classes = classes.len();
    counts
}

#[test]
fn calls_of_one_class_get_the_same_answer() {
    let sessions = sessions();
    let plain = Scenario::default();
    let mut all = shipped();
    all.push(("odd".to_owned(), odd(false)));
    for (name, machine) in &all {
        let counts = compare(name, machine, &sessions, &plain);
        // Otherwise hardly any answer was compared with another.
        assert!(counts.classes * 4 < counts.calls * 3, "{name}: {counts:?}");
        assert!(counts.answers > counts.calls, "{name}: {counts:?}");
    }
    let counts = compare("odd, secrets", &odd(true), &sessions, &plain);
    assert!(counts.classes < counts.calls, "{counts:?}");
    let of_person = Scenario {
        allowed_by_person: vec!["sudo apt-get update".to_owned(), "docker".to_owned()],
        ..plain
    };
    compare("odd, of a person", &odd(false), &sessions, &of_person);
}
