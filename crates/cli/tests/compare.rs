//! `interlock compare`: two runs, and one run under another workflow; output and exit codes.

use std::process::Output;

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const SESSION: &str = "5b1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c1";

const FLOW: &str = "id: flow
initial: planning
states:
  planning:
    allowed_tools: [Read]
    on: {READY: writing}
  writing:
    allowed_tools: [Read, Write]
    on: {DONE: done}
  done: {type: final}
";

fn compare(room: &Room, arguments: &[&str]) -> (i32, String, String) {
    let output: Output = room
        .command(INTERLOCK)
        .arg("compare")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Starts a run with its own session, in which the agent proposes calls.
fn run(room: &Room, number: usize, calls: &[(&str, &str)]) -> String {
    let session = format!("{SESSION}{number}");
    let run = Interlock::new(INTERLOCK, room)
        .start_for_session("flow.yaml", &session)
        .unwrap();
    for (at, (tool, file)) in calls.iter().enumerate() {
        let input = json!({ "file_path": file, "content": "x" });
        let told = before_tool(room, &session, &format!("{number}-{at}"), tool, &input);
        let told = room.write("told.json", &told.to_string()).unwrap();
        let hook = format!("'{INTERLOCK}' hook claude-code < {}", told.display());
        // A shell does not count as a client.
        let mut client = room.command("find");
        client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &hook, ";"]);
        let output = client.output().unwrap();
        assert!(
            String::from_utf8_lossy(&output.stdout).starts_with('{'),
            "{output:?}"
        );
    }
    run
}

#[test]
fn runs_that_say_the_same_are_the_same_and_others_differ_with_exit_code_1() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    let one = run(&room, 1, &[("Read", "a.md"), ("Write", "a.md")]);
    let two = run(&room, 2, &[("Read", "a.md"), ("Write", "a.md")]);
    let three = run(&room, 3, &[("Read", "a.md"), ("Write", "b.md")]);
    let (code, said, _) = compare(&room, &[&one, &two]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("No difference"), "{said}");
    let (code, said, _) = compare(&room, &[&one, &three]);
    assert_eq!(code, 1, "{said}");
    for line in [
        "1 difference.",
        "CallDenied Write a.md",
        "CallDenied Write b.md",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let (code, said, _) = compare(&room, &[&one, &three, "--json"]);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &found["differing"]), (1, &json!(1)));
    assert_eq!(
        found["differences"][0]["left"]["events"][0]["event"],
        "CallDenied"
    );
}

#[test]
fn a_run_under_another_workflow_says_what_differs_from_the_first_difference_on() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    let one = run(&room, 1, &[("Read", "a.md"), ("Write", "a.md")]);
    let (code, said, _) = compare(&room, &[&one, "--under", "flow.yaml"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("No difference"), "{said}");
    room.write(
        "wide.yaml",
        &FLOW.replace("allowed_tools: [Read]\n", "allowed_tools: [Read, Write]\n"),
    )
    .unwrap();
    let before = Interlock::new(INTERLOCK, &room).events(&one).unwrap();
    let (code, said, _) = compare(&room, &[&one, "--under", "wide.yaml"]);
    assert_eq!(code, 1, "{said}");
    for line in [
        "1 comes out differently",
        "hypothetical",
        "Write a.md",
        "then in planning: denied (tool_not_allowed)",
        "now  in planning: allowed",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let (_, said, _) = compare(&room, &[&one, "--under", "wide.yaml", "--json"]);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["differences"][0]["change"], "possible", "{found:#}");
    assert_eq!(found["first"], found["differences"][0]["seq"]);
    assert_eq!(
        Interlock::new(INTERLOCK, &room).events(&one).unwrap(),
        before
    );
}

#[test]
fn what_cannot_be_compared_is_a_usage_error_and_no_difference() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    room.write("broken.yaml", "id: flow\ninitial: nowhere\nstates: {}\n")
        .unwrap();
    room.write(
        "steps.yaml",
        "id: steps\nstages:\n  A: {allowedTools: [Read], completionTool: submit, completionSchema: {}, turnCap: 3, next: end, body: Do it.}\n",
    )
    .unwrap();
    let one = run(&room, 1, &[]);
    for arguments in [
        &[one.as_str()][..],
        &[&one, "nope"],
        &["nope", &one],
        &[&one, &one, "--under", "flow.yaml"],
        &[&one, "--under", "nope"],
        &[&one, "--under", "broken.yaml"],
        &[&one, "--under", "steps.yaml"],
    ] {
        let (code, said, error) = compare(&room, arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}{error}");
        assert!(!error.is_empty(), "{arguments:?}");
    }
    let (_, _, error) = compare(&room, &[&one, "--under", "steps.yaml"]);
    assert!(error.contains("judges no agent"), "{error}");
}
