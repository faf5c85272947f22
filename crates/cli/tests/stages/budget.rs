//! The model budget of a run holds for all of its siblings together.

use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use interlock_testkit::provider::{Reply, Script, call};
use serde_json::json;

use crate::stages::place::Place;

const SIBLINGS: usize = 64;
/// Time limit for siblings that wait for each other, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a workflow of a stage, then siblings, of which any one's first message exceeds the budget.
fn flow() -> String {
    let names: Vec<String> = (0..SIBLINGS).map(|n| format!("S{n:02}")).collect();
    let stage = |name: &str, next: &str| {
        format!(
            "  {name}: {{body: stage {name}, allowedTools: [Read], completionTool: submit, completionSchema: {{}}, turnCap: 4, next: {next}}}\n"
        )
    };
    let mut flow = format!(
        "id: flow\nsettings: {{parallelStageCap: {SIBLINGS}, budget: {{tokens: 20}}}}\nstages:\n{}",
        stage("Begin", &format!("{{parallel: [{}]}}", names.join(", ")))
    );
    for name in &names {
        flow.push_str(&stage(name, "end"));
    }
    flow
}

/// Answers the siblings only when all of them have asked; each then wants to continue.
fn script() -> Script {
    let asked: Arc<(Mutex<usize>, Condvar)> = Arc::default();
    Script::new(move |request| {
        if request.number == 0 {
            return Reply::say(vec![call("submit", json!({}))]);
        }
        let (count, changed) = &*asked;
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let all = changed.wait_timeout_while(count, PATIENCE, |count| *count < SIBLINGS);
        drop(all.unwrap());
        let read = json!({"file_path": "src/auth.rs"});
        Reply::say(vec![call("Read", &read)])
    })
}

#[test]
fn siblings_make_no_call_past_the_budget_but_those_in_flight() {
    let place = Place::new("anthropic", &flow(), script());
    place
        .call(&["run", "flow", "it", "-n", "one", "--headless"])
        .ended(1);
    assert_eq!(place.provider.asked().len(), 1 + SIBLINGS);
    assert_eq!(place.count("ModelCalled"), 1 + SIBLINGS);
    let refused = |event: &serde_json::Value| event["outcome"] == "budget";
    assert!(place.events().iter().any(refused));
}
