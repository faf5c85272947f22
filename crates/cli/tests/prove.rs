//! `prove` as a program: pictures of failures, and the comparison of versions.

use std::process::Stdio;

use interlock_testkit::room::Room;
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const FLOW: &str = "id: flow
initial: work
guards:
  tested: {evidence: {command: make check}}
states:
  work:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [make check]
    on: {SHIP: {target: shipped, guard: tested}, SKIP: looked, GIVE_UP: failed}
  looked: {allowed_tools: [Read], on: {SHIP: shipped}}
  shipped: {type: final}
  failed: {type: final}
properties:
  - name: what is shipped was tested
    before: {enter: shipped}
    require: [{guard: tested}]
";

/// Returns the workflow from before a way around the tests was added.
fn without_a_way_around() -> String {
    let state = "  looked: {allowed_tools: [Read], on: {SHIP: shipped}}\n";
    FLOW.replace("SKIP: looked, ", "").replace(state, "")
}

/// Runs a command, asserts its exit code and returns its output.
fn out(room: &Room, arguments: &[&str], code: i32) -> String {
    let output = room
        .command(INTERLOCK)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_failure_is_drawn_with_the_way_that_its_run_took() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    out(&room, &["prove", "flow.yaml", "--graph", "broken.dot"], 1);
    let drawn = room.read("broken.dot").unwrap();
    let plain = out(&room, &["graph", "flow.yaml", "--format", "dot"], 0);
    // The same states and transitions, but with marks.
    assert_ne!(drawn, plain);
    assert!(drawn.contains("ended here"), "{drawn}");
    assert!(!plain.contains("ended here"), "{plain}");
    out(&room, &["prove", "flow.yaml", "--graph", "broken.svg"], 1);
    assert!(room.read("broken.svg").unwrap().starts_with("<svg"));
}

#[test]
fn nothing_is_drawn_where_nothing_fails() {
    let room = Room::new().unwrap();
    let sound = without_a_way_around();
    room.write("flow.yaml", &sound).unwrap();
    out(&room, &["prove", "flow.yaml", "--graph", "broken.svg"], 0);
    assert_eq!(room.read("broken.svg"), None);
}

#[test]
fn what_a_version_permits_newly_is_shown_and_ends_with_one() {
    let room = Room::new().unwrap();
    room.write("old.yaml", &without_a_way_around()).unwrap();
    room.write("new.yaml", FLOW).unwrap();
    let said = out(&room, &["prove", "new.yaml", "--against", "old.yaml"], 1);
    assert!(
        said.contains("permits more new.yaml against old.yaml"),
        "{said}"
    );
    assert!(said.contains(r#"{"transition":"SKIP"}"#), "{said}");
    let json = out(
        &room,
        &["prove", "new.yaml", "--against", "old.yaml", "--json"],
        1,
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["verdict"], "permits more");
    assert_eq!(json["permitted"]["what"], "`SKIP` from `work`");
    let said = out(&room, &["prove", "old.yaml", "--against", "new.yaml"], 0);
    assert!(
        said.contains("no longer permitted: `SKIP` from `work`"),
        "{said}"
    );
    let said = out(&room, &["prove", "new.yaml", "--against", "new.yaml"], 0);
    assert!(said.starts_with("same"), "{said}");
}

#[test]
fn by_calls_a_renamed_workflow_is_the_same() {
    let room = Room::new().unwrap();
    let old = "id: w\ninitial: a\nstates:\n  a: {allowed_tools: [Read], on: {GO: b}}\n  b: {allowed_tools: [Edit], on: {DONE: end}}\n  end: {type: final}\n";
    room.write("old.yaml", old).unwrap();
    let renamed = old.replace("GO", "NEXT").replace("DONE", "OVER");
    room.write("new.yaml", &renamed).unwrap();
    let mut words = vec!["prove", "new.yaml", "--against", "old.yaml"];
    out(&room, &words, 1);
    words.extend(["--by", "calls"]);
    let said = out(&room, &words, 0);
    assert!(said.starts_with("same"), "{said}");
    let merged = old.replace("[Read]", "[Read, Edit]");
    room.write("new.yaml", &merged).unwrap();
    let said = out(&room, &words, 1);
    assert!(said.contains("newly permitted: `Read`"), "{said}");
    assert!(said.contains("refuses this one in each"), "{said}");
    // Without an older version there is nothing to compare with.
    out(&room, &["prove", "new.yaml", "--by", "calls"], 2);
}

#[test]
fn a_bound_of_pairs_is_unknown() {
    let room = Room::new().unwrap();
    room.write("new.yaml", FLOW).unwrap();
    let old = FLOW.replace(
        "looked: {allowed_tools: [Read]",
        "looked: {allowed_tools: [Read, Grep]",
    );
    room.write("old.yaml", &old).unwrap();
    let said = out(
        &room,
        &[
            "prove",
            "new.yaml",
            "--against",
            "old.yaml",
            "--max-states",
            "2",
        ],
        3,
    );
    assert!(said.contains("bound: more than 2 pairs"), "{said}");
}

/// Returns the result of `check` for the properties.
fn checked(room: &Room) -> (String, Value) {
    let output = room
        .command(INTERLOCK)
        .args(["check", "flow.yaml"])
        .output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let told = out(room, &["check", "flow.yaml", "--json"], 0);
    let told: Value = serde_json::from_str(&told).unwrap();
    (said, told["properties"][0]["last_proof"].clone())
}

#[test]
fn check_says_when_the_properties_were_proved_and_what_has_changed_since() {
    let room = Room::new().unwrap();
    let sound = without_a_way_around();
    room.write("flow.yaml", &sound).unwrap();
    let (said, last) = checked(&room);
    assert!(
        said.contains("flow.yaml has 1 property: `interlock prove flow.yaml` checks"),
        "{said}"
    );
    assert_eq!(last, Value::Null);

    out(&room, &["prove", "flow.yaml"], 0);
    let (said, last) = checked(&room);
    assert!(
        said.contains(" s ago, and nothing has changed since"),
        "{said}"
    );
    assert_eq!(last["changed_since"], false);
    assert_eq!(last["verdicts"][0]["verdict"], "holds");

    // Properties in another file do not belong to the workflow.
    room.write("other.yaml", "properties:\n  - never: {enter: failed}\n")
        .unwrap();
    out(
        &room,
        &["prove", "flow.yaml", "--properties", "other.yaml"],
        1,
    );
    assert_eq!(checked(&room).1, last);

    room.write(
        "flow.properties.yaml",
        "properties:\n  - never: {enter: failed}\n",
    )
    .unwrap();
    let (said, last) = checked(&room);
    assert!(
        said.contains("and the workflow has changed since: `interlock prove flow.yaml`"),
        "{said}"
    );
    assert_eq!(last["changed_since"], true);
    out(&room, &["prove", "flow.yaml"], 1);
    assert!(checked(&room).0.contains("nothing has changed since"));
}
