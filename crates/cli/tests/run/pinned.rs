//! A run uses its own copy of the workflow, whatever happens to the file.

use std::fs;

use crate::run::place::Place;

const MAIN: &str = "start-at: p
states:
  p: {tool: pause, arguments: {reason: wait}, next: s}
  s: {tool: sub-flow, arguments: {workflow: sub}}
";
const SUB: &str = "start-at: x
states:
  x: {tool: bash, arguments: {command: 'echo old'}}
";

fn paused() -> Place {
    let place = Place::with("main", MAIN);
    place.flow("sub", SUB);
    place.call(&["run", "main", "-n", "m"]).ended(75);
    assert!(
        place.status("m")["files_changed"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    place
}

#[test]
fn an_edited_sub_flow_touches_new_runs_only() {
    let place = paused();
    place.flow("sub", &SUB.replace("old", "new"));
    let changed = &place.status("m")["files_changed"];
    assert_eq!(changed[0]["what"], "changed");
    assert!(
        changed[0]["path"]
            .as_str()
            .unwrap()
            .ends_with("/.flowstate/sub.yaml")
    );
    let said = place
        .by_person(&["resume", "m"])
        .ended(0)
        .says(&["uses its own copy"]);
    assert_eq!(said.out, "old\n");
}

#[test]
fn a_workflow_that_is_gone_goes_on() {
    let place = paused();
    fs::remove_dir_all(place.room.project().join(".flowstate")).unwrap();
    assert_eq!(
        place.status("m")["files_changed"].as_array().unwrap().len(),
        2
    );
    let said = place
        .by_person(&["resume", "m"])
        .ended(0)
        .says(&["is gone"]);
    assert_eq!(said.out, "old\n");
}

#[test]
fn a_person_may_move_the_run_to_the_file_as_it_is() {
    let place = paused();
    place.flow(
        "sub",
        &SUB.replace("old", "new {{ v }}")
            .replace("states", "variables: {v: one}\nstates"),
    );
    let said = place.by_person(&["resume", "m", "--adopt"]).ended(0);
    assert_eq!(said.out, "new one\n");
    assert!(place.events("m").contains(&"MachineAdopted".to_owned()));
    assert!(
        place.status("m")["files_changed"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    place.call(&["log", "m", "--verify"]).ended(0);
}

#[test]
fn a_failed_state_is_run_as_the_new_file_has_it() {
    let place = Place::with(
        "main",
        "start-at: a\nstates:\n  a: {tool: bash, arguments: {command: exit 3}}\n",
    );
    place.call(&["run", "main", "-n", "m"]).ended(3);
    let better = "start-at: a\nvariables: {v: x}\nstates:\n  a: {tool: bash, arguments: {command: 'echo {{ v }}'}}\n";
    place.flow("main", better);
    let said = place
        .by_person(&["resume", "m", "--adopt", "--var", "v=set"])
        .ended(0);
    assert_eq!(said.out, "set\n");
}

#[test]
fn a_file_without_the_state_is_not_taken() {
    let place = paused();
    place.flow(
        "main",
        &MAIN
            .replace("p:", "q:")
            .replace("start-at: p", "start-at: q"),
    );
    place
        .by_person(&["resume", "m", "--adopt"])
        .ended(1)
        .says(&["the run is in `p`"]);
    place.flow("main", "start-at: nowhere\nstates: {}\n");
    place
        .by_person(&["resume", "m", "--adopt"])
        .ended(1)
        .says(&["main.yaml:2:9"]);
    assert_eq!(place.by_person(&["resume", "m"]).ended(0).out, "old\n");
}
