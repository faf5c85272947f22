//! Compares steps that are repeated at the nodes of a place with those that the engine does at each node.

use interlock_simulate::Scenario;
use serde_json::json;

use super::{call, odd, session, shipped};
use crate::{
    Backtester,
    calls::Calls,
    follow::{asked, bytes, performed},
    nodes::Free,
    options::Options,
    verdict::Verdict,
};

/// Number of nodes of a workflow that are compared.
const NODES: usize = 60;

fn edit(file: &str) -> interlock_sessions::Call {
    let input = json!({"file_path": file, "old_string": "a", "new_string": "b"});
    call("Edit", input)
}

#[test]
fn repeated_steps_are_those_of_the_engine() {
    let mut calls = Vec::new();
    for round in 0..4 {
        for name in ["a", "b"] {
            let file = format!("/project/src/{name}{round}.rs");
            calls.push(call("Read", json!({"file_path": file})));
            calls.push(edit(&file));
        }
        // A file of another class, and results of other sizes.
        calls.push(edit("/tmp/x"));
        for (call, bytes) in calls.iter_mut().rev().zip([round, 7]) {
            call.bytes = bytes;
        }
        calls.push(call("Bash", json!({"command": "cargo test"})));
        calls.push(edit("/project/db/migrations/1.sql"));
        calls.push(call("Bash", json!({"command": "git push"})));
    }
    let session = session(calls);
    let mut all = shipped();
    all.push(("odd".to_owned(), odd(false)));
    let mut repeated = 0;
    for (name, machine) in &all {
        let mut tester = Backtester::new(machine, Options::default()).unwrap();
        tester.place(&session, &Scenario::default());
        let nodes = &mut tester.nodes;
        let calls = Calls::new(machine).of(&session, &Scenario::default());
        let count = u32::try_from(nodes.count()).unwrap();
        let step = nodes.count() / NODES + 1;
        for node in (0..count).step_by(step) {
            let place = nodes.get(node).unwrap().place;
            let kept = nodes.free(node);
            let found = nodes.ask_free(node, place);
            let tell = |free: &Free| (free.act.clone(), free.taken.clone(), free.to);
            let kept: Vec<_> = kept.iter().map(tell).collect();
            let found: Vec<_> = found.iter().map(tell).collect();
            assert_eq!(kept, found, "{name}, node {node}");
            for call in &calls[..10] {
                let bytes = bytes(nodes, call);
                let told = asked(nodes, node, call, Options::default());
                let (Verdict::Allow, Some(change)) = (told.verdict, told.change) else {
                    continue;
                };
                let Some(kept) = nodes.result(node, change, bytes) else {
                    continue;
                };
                let (run, _) = performed(nodes, node, call, Options::default()).unwrap();
                assert_eq!(kept, nodes.number(run), "{name}, node {node}, {call:?}");
                repeated += 1;
            }
        }
    }
    // Otherwise hardly any step was compared.
    assert!(repeated > 300, "{repeated}");
}
