//! `create_workflow`.

use std::fs;

use interlock_core::call::ControlTool::{CreateWorkflow, Start};
use interlock_gateway::Answer;
use serde_json::{Value, json};

use crate::gateway::world::{World, at, call, code};

const DEFINITION: &str = r#"{"id": "x", "initial": "a", "context": {"n": 1.10}, "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}"#;

fn create(world: &World, name: &str, definition: &str) -> Answer {
    let arguments = format!(r#"{{"name": {}, "definition": {definition}}}"#, json!(name));
    call(&mut world.control(), CreateWorkflow, &arguments)
}

fn files(world: &World) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(world.drafts())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_draft_is_no_larger_than_a_workflow_may_be() {
    let world = World::new();
    let long = |bytes: usize| DEFINITION.replace("1.10", &json!("x".repeat(bytes)).to_string());
    let answer = create(&world, "large", &long(1_048_576));
    assert_eq!(code(&answer), "invalid_arguments");
    assert!(
        answer.text.contains("1048576 is the limit"),
        "{}",
        answer.text
    );
    assert_eq!(files(&world), [] as [String; 0]);
    assert_eq!(code(&create(&world, "large", &long(1_000_000))), "ok");
}

#[test]
fn a_draft_is_written_and_cannot_be_started() {
    let world = World::new();
    let answer = create(&world, "new-one", DEFINITION);
    assert_eq!(code(&answer), "ok");
    assert_eq!(
        at(&answer, "/draft"),
        ".interlock/workflows/new-one.draft.json"
    );
    let text = fs::read_to_string(world.drafts().join("new-one.draft.json")).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        kept.to_string(),
        DEFINITION.replace(' ', ""),
        "as it was sent, numbers too"
    );
    for name in ["new-one", "new-one.draft"] {
        let arguments = json!({"workflow": name}).to_string();
        assert_eq!(
            code(&call(&mut world.control(), Start, &arguments)),
            "unknown_workflow"
        );
    }
    // A person adopts it.
    fs::rename(
        world.drafts().join("new-one.draft.json"),
        world.drafts().join("new-one.json"),
    )
    .unwrap();
    assert_eq!(
        code(&call(
            &mut world.control(),
            Start,
            r#"{"workflow": "new-one"}"#
        )),
        "ok"
    );
}

#[test]
fn the_directory_is_made_where_there_is_none() {
    let world = World::new();
    fs::remove_dir_all(world.project.join(".interlock")).unwrap();
    fs::create_dir(world.project.join(".git")).unwrap();
    assert_eq!(code(&create(&world, "n", DEFINITION)), "ok");
    assert_eq!(files(&world), ["n.draft.json"]);
}

#[test]
fn nothing_that_is_there_is_replaced() {
    let world = World::new();
    world.workflow("mine.yaml", "not even a workflow");
    world.workflow("half.draft.yaml", "a draft");
    std::os::unix::fs::symlink("/nowhere/at/all", world.drafts().join("linked.draft.json"))
        .unwrap();
    let before = files(&world);
    for name in ["mine", "MINE", "half", "bugfix", "linked"] {
        assert_eq!(
            code(&create(&world, name, DEFINITION)),
            "name_taken",
            "{name}"
        );
    }
    assert_eq!(files(&world), before);
    assert_eq!(
        fs::read_to_string(world.drafts().join("mine.yaml")).unwrap(),
        "not even a workflow"
    );
    assert_eq!(code(&create(&world, "twice", DEFINITION)), "ok");
    assert_eq!(code(&create(&world, "twice", DEFINITION)), "name_taken");
}

#[test]
fn a_name_cannot_lead_elsewhere() {
    let world = World::new();
    let long = "n".repeat(65);
    for name in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a.draft",
        "a b",
        "é",
        "x\n",
        "x\0",
        long.as_str(),
    ] {
        assert_eq!(
            code(&create(&world, name, DEFINITION)),
            "invalid_arguments",
            "{name:?}"
        );
    }
    assert!(files(&world).is_empty());
}

#[test]
fn a_definition_with_mistakes_is_not_written() {
    let world = World::new();
    let cases = [
        ("{}", "invalid_workflow", "line 1"),
        (
            r#"{"id": "x", "initial": "a", "states": {"a": {"alowed_tools": [], "type": "final"}}}"#,
            "invalid_workflow",
            "allowed_tools",
        ),
        (
            r#"{"id": "x", "initial": "z", "states": {"a": {"type": "final"}}}"#,
            "invalid_workflow",
            "column",
        ),
        (r#""id: x""#, "invalid_arguments", "a JSON object"),
        ("[]", "invalid_arguments", "a JSON object"),
        ("null", "invalid_arguments", "`definition`"),
        (
            r#"{"definition": {"id": "x", "initial": "a", "states": {"a": {"type": "final"}}}, "upstream_servers": {"s": {"command": "x"}}}"#,
            "invalid_arguments",
            "`upstream_servers`",
        ),
    ];
    for (definition, expected, text) in cases {
        let answer = create(&world, "n", definition);
        assert_eq!(code(&answer), expected, "{definition}: {}", answer.text);
        assert!(answer.text.contains(text), "{text}: {}", answer.text);
    }
    assert!(files(&world).is_empty());
}

#[test]
fn warnings_are_told_and_do_not_stop_it() {
    let world = World::new();
    let definition = r#"{"id": "x", "initial": "a", "states": {"a": {"allowed_tools": ["Raed"], "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;
    let answer = create(&world, "n", definition);
    assert_eq!(code(&answer), "ok");
    assert!(
        at(&answer, "/warnings/0/message").is_string(),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("Raed"), "{}", answer.text);
}
