//! `start` and `list_workflows`.

use std::fs;

use interlock_core::call::ControlTool::{ListWorkflows, Start};
use interlock_store::{Durability, Lookup};
use serde_json::{Value, json};

use crate::gateway::world::{World, at, call, code, process, session};

const TINY: &str =
    "{id: tiny, initial: a, context: {n: 1}, states: {a: {on: {GO: b}}, b: {type: final}}}";
const W: &str = r#"{"workflow": "w"}"#;

#[test]
fn a_start_holds_the_session_that_asked() {
    let world = World::with(TINY);
    let arguments = r#"{"workflow": "w", "input": {"n": 9007199254740993, "more": [1.50]}}"#;
    world.note(Start, arguments, |note| note.process = Some(process(77)));
    let answer = call(&mut world.control(), Start, arguments);
    assert_eq!(code(&answer), "ok");
    let run = world.bound("s1").unwrap();
    assert_eq!(at(&answer, "/run"), json!(run));
    assert_eq!(at(&answer, "/log"), json!(["RunStarted"]));
    assert_eq!(
        at(&answer, "/context").to_string(),
        r#"{"n":9007199254740993,"more":[1.50]}"#
    );
    let Lookup::Bound(binding) = world.home.look_up(&session("s1"), &world.project).unwrap() else {
        panic!("not bound");
    };
    assert_eq!(binding.process, Some(process(77)));
    assert_eq!(binding.project_root, world.project);
    let pinned = world.home.open_run(&run).unwrap().source().unwrap();
    assert_eq!(pinned.text, TINY);
}

#[test]
fn beside_an_open_run_nothing_is_started() {
    let world = World::with(TINY);
    let run = world.started_for("s1");
    let mut control = world.control();
    let answer = world.noted(&mut control, Start, W);
    assert_eq!(code(&answer), "run_open");
    assert_eq!(at(&answer, "/run"), json!(run));
    assert_eq!(at(&answer, "/state"), "a");
    // It makes no difference whether a hook had not seen the run yet, or was not there.
    world.note(Start, W, |note| note.run = None);
    assert_eq!(code(&call(&mut control, Start, W)), "run_open");
    assert_eq!(code(&call(&mut control, Start, W)), "run_open");
    assert_eq!(world.runs(), std::slice::from_ref(&run));
    assert_eq!(world.bound("s1"), Some(run));
}

#[test]
fn after_the_end_the_session_gets_a_new_run() {
    let world = World::with(TINY);
    let first = world.started_for("s1");
    world.cancel(&first);
    let answer = world.noted(&mut world.control(), Start, W);
    assert_eq!(code(&answer), "ok");
    let second = world.bound("s1").unwrap();
    assert_ne!(first, second);
    assert_eq!(at(&answer, "/run"), json!(second));
}

#[test]
fn without_a_note_the_run_waits_for_the_next_session() {
    let world = World::with(TINY);
    let mut control = world.control();
    let first = call(&mut control, Start, W);
    assert_eq!(code(&first), "ok");
    let Lookup::Waiting(waiting) = world.home.look_up(&session("s1"), &world.project).unwrap()
    else {
        panic!("nothing waits");
    };
    assert_eq!(at(&first, "/run"), json!(waiting));
    assert_eq!(code(&call(&mut control, Start, W)), "run_open");
    assert_eq!(
        code(&call(&mut world.control(), Start, W)),
        "run_open",
        "another process"
    );
    world.cancel(&waiting);
    assert_eq!(
        code(&call(&mut world.control(), Start, W)),
        "ok",
        "it waits in place of the ended one"
    );
    assert_eq!(world.runs().len(), 2);
}

#[test]
fn of_many_starts_at_once_one_wins() {
    let world = World::with(TINY);
    for _ in 0..6 {
        world.note(Start, W, |_| {});
    }
    let started: usize = std::thread::scope(|scope| {
        let tasks: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| usize::from(!call(&mut world.control(), Start, W).refused)))
            .collect();
        tasks.into_iter().map(|task| task.join().unwrap()).sum()
    });
    assert_eq!(started, 1);
    assert_eq!(world.runs().len(), 1);
    assert!(world.bound("s1").is_some());
}

#[test]
fn only_a_listed_workflow_can_be_started() {
    let world = World::with(TINY);
    world.workflow("half.draft.json", TINY);
    world.workflow("w.test.yaml", TINY);
    world.workflow(
        "broken.yaml",
        "id: broken\ninitial: nowhere\nstates:\n  a: {type: final}\n",
    );
    fs::write(world.project.join("mine.yaml"), TINY).unwrap();
    let path = world.project.join("mine.yaml").display().to_string();
    let mut control = world.control();
    let cases = [
        ("nosuch", "unknown_workflow", "`bugfix`"),
        ("half.draft", "unknown_workflow", "`w`"),
        ("half.draft.json", "unknown_workflow", ""),
        ("w.test", "unknown_workflow", ""),
        ("w.yaml", "unknown_workflow", ""),
        ("../w", "unknown_workflow", ""),
        ("mine.yaml", "unknown_workflow", ""),
        (path.as_str(), "unknown_workflow", ""),
        ("broken", "invalid_workflow", "line 2, column 1"),
    ];
    for (name, expected, text) in cases {
        let arguments = json!({"workflow": name}).to_string();
        let answer = world.noted(&mut control, Start, &arguments);
        assert_eq!(code(&answer), expected, "{name}");
        assert!(answer.text.contains(text), "{text}: {}", answer.text);
    }
    assert!(world.runs().is_empty());
    assert_eq!(world.bound("s1"), None);
    assert_eq!(
        code(&world.noted(&mut control, Start, r#"{"workflow": "bugfix"}"#)),
        "ok",
        "a shipped one"
    );
}

#[test]
fn a_policy_leaves_the_agent_no_choice_of_workflow() {
    let world = World::with(TINY);
    let config = world.project.join(".interlock/config.toml");
    fs::write(
        &config,
        "workflow = \"w\"\n[store]\ndurability = \"power\"\n",
    )
    .unwrap();
    let mut control = world.control();
    assert_eq!(
        code(&world.noted(&mut control, Start, r#"{"workflow": "research"}"#)),
        "protected"
    );
    assert_eq!(code(&world.noted(&mut control, Start, W)), "ok");
    let run = world.bound("s1").unwrap();
    assert_eq!(
        world.home.open_run(&run).unwrap().durability(),
        Durability::Power
    );
    world.cancel(&run);
    fs::write(&config, "workflow = [").unwrap();
    assert_eq!(code(&world.noted(&mut control, Start, W)), "unavailable");
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_state_directory_that_cannot_be_used_starts_nothing() {
    let world = World::with(TINY);
    fs::write(world.home.path(), "in the way").unwrap();
    let answer = call(&mut world.control(), Start, W);
    assert_eq!(code(&answer), "unavailable");
    assert!(answer.text.contains("not a directory"), "{}", answer.text);
}

#[test]
fn the_list_shows_what_can_be_started_and_what_is_wrong_with_the_rest() {
    let world = World::with(TINY);
    world.workflow("broken.yaml", "id: broken\n");
    world.workflow("half.draft.json", TINY);
    fs::create_dir_all(world.configuration.join("workflows")).unwrap();
    fs::write(world.configuration.join("workflows/own.json"), r#"{"id":"own","initial":"x","meta":{"danger_level":"safe"},"states":{"x":{"type":"final"}}}"#).unwrap();
    let answer = call(&mut world.control(), ListWorkflows, "{}");
    assert_eq!(code(&answer), "ok");
    let listed = at(&answer, "/workflows");
    let find = |name: &str| {
        listed
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .cloned()
    };
    assert_eq!(
        find("w").unwrap(),
        json!({"name": "w", "origin": "project", "id": "tiny", "initial": "a", "states": ["a", "b"]})
    );
    assert_eq!(find("own").unwrap()["origin"], "person");
    assert_eq!(find("own").unwrap()["danger_level"], "safe");
    assert!(find("broken").unwrap()["problem"].is_string());
    assert_eq!(find("half.draft"), None);
    assert!(
        find("bugfix").is_some_and(|entry| entry["problem"] == Value::Null),
        "{listed}"
    );
    assert!(
        answer.text.contains("- w (project): a, b"),
        "{}",
        answer.text
    );
}

#[test]
fn the_states_listed_are_those_that_the_file_has() {
    let world = World::new();
    let forks = r"
id: forks
initial: a
states:
  a: {on: {GO: {fork: {branches: {one: {initial: b, terminal: z}, two: {initial: c, terminal: z}}, on_complete: z, on_fail: z}}}}
  b: {on: {OK: z}}
  c: {on: {OK: {invoke: sub, on_complete: z, on_fail: z}}}
  z: {type: final}
machines:
  sub: {initial: inner, states: {inner: {type: final}}}
";
    let pipeline = r"
id: p
stages:
  first: {body: work, allowedTools: [Read], completionTool: submit, completionSchema: {}, turnCap: 3, next: {parallel: [left, right]}}
  left: {body: work, allowedTools: [Read], completionTool: submit, completionSchema: {}, turnCap: 3, next: end}
  right: {body: work, allowedTools: [Read], completionTool: submit, completionSchema: {}, turnCap: 3, next: fail}
";
    let codemie = r"
assistants: [{id: a, system_prompt: x}]
states:
  - {id: s, assistant_id: a, task: go, next: {state_ids: [l, r]}}
  - {id: l, assistant_id: a, task: go, next: {state_id: meet}}
  - {id: r, assistant_id: a, task: go, next: {state_id: meet}}
  - {id: meet, assistant_id: a, task: go, next: {state_id: end}}
";
    let flow = r#"
name: flow
start-at: beside
states:
  beside:
    tool: parallel
    arguments: {tasks: [{name: unit, tool: bash, arguments: {command: "true"}}, {name: lint, tool: bash, arguments: {command: "true"}}]}
    next: again
  again:
    tool: for-each
    arguments: {items-from: {tool: bash, arguments: {command: ls}}, start-at: step, states: {step: {tool: bash, arguments: {command: "true"}}}}
"#;
    let files: [(&str, &str, &[&str]); 4] = [
        ("forks", forks, &["a", "b", "c", "z"]),
        ("pipeline", pipeline, &["first", "left", "right"]),
        ("codemie", codemie, &["s", "l", "r", "meet"]),
        ("flow", flow, &["beside", "again"]),
    ];
    for (name, text, _) in files {
        world.workflow(&format!("{name}.yaml"), text);
    }
    let answer = call(&mut world.control(), ListWorkflows, "{}");
    let listed = at(&answer, "/workflows");
    for (name, _, states) in files {
        let mut entries = listed.as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["name"] == name).unwrap();
        assert_eq!(entry["states"], json!(states), "{entry}");
        let line = format!("- {name} (project): {}\n", states.join(", "));
        assert!(
            format!("{}\n", answer.text).contains(&line),
            "{}",
            answer.text
        );
    }
}
