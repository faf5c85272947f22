//! Starts of runs: workflows, names, variables, and refusals.

use std::fs;

use crate::run::place::{Place, begin, end};

const HELLO: &str = "start-at: a
variables: {who: world}
states:
  a:
    tool: bash
    arguments: {command: 'printf %s {{ who }}'}
";

#[test]
fn a_workflow_is_found_by_name_or_file() {
    let place = Place::with("hello", HELLO);
    place.flow("folder/index", HELLO);
    for wanted in ["hello", ".flowstate/hello.yaml", "folder"] {
        let said = place.call(&["run", wanted]).ended(0);
        assert_eq!(said.out, "world", "{wanted}");
    }
    place.call(&["run", "nowhere"]).ended(1).says(&["`hello`"]);
}

#[test]
fn names_are_made_up_printed_and_unique() {
    let place = Place::with("hello", HELLO);
    place
        .call(&["run", "hello"])
        .ended(0)
        .says(&["run hello-1\n"]);
    place
        .call(&["run", "hello"])
        .ended(0)
        .says(&["run hello-2\n"]);
    place
        .call(&["run", "hello", "-n", "friday"])
        .ended(0)
        .says(&["run friday\n"]);
    place
        .call(&["run", "hello", "--name", "friday"])
        .ended(1)
        .says(&["`friday` already"]);
    place.flow("other", HELLO);
    place.call(&["run", "other", "-n", "friday"]).ended(0);
    for bad in [".x", "a b", "a/b", ""] {
        place.call(&["run", "hello", "-n", bad]).ended(2);
    }
    let long = "a".repeat(101);
    place.call(&["run", "hello", "-n", &long]).ended(2);
}

#[test]
fn a_name_means_the_run_of_its_workflow() {
    let place = Place::with("hello", HELLO);
    place.flow("other", HELLO);
    for flow in ["hello", "other"] {
        place.call(&["run", flow, "-n", "x"]).ended(0);
        let status = place.status(&format!("{flow}/x"));
        assert_eq!(
            (&status["workflow"], &status["name"]),
            (&flow.into(), &"x".into())
        );
    }
    place
        .call(&["status", "x"])
        .ended(1)
        .says(&["may be any of"]);
    place.call(&["status", "other/y"]).ended(1);
}

#[test]
fn runs_that_begin_at_once_have_names_of_their_own() {
    let place = Place::with("hello", HELLO);
    let all: Vec<_> = (0..8)
        .map(|_| begin(place.command(&["run", "hello", "--json"])))
        .collect();
    let mut names: Vec<String> = all
        .into_iter()
        .map(|child| {
            end(child).ended(0).lines()[0]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8, "{names:?}");
}

#[test]
fn variables_are_set_and_unknown_ones_refused() {
    let place = Place::with("hello", HELLO);
    let said = place.call(&["run", "hello", "--var", "who=a=b"]).ended(0);
    assert_eq!(said.out, "a=b");
    place
        .call(&["run", "hello", "--var", "wo=x"])
        .ended(1)
        .says(&["did you mean `who`?"]);
    place.call(&["run", "hello", "--var", "who"]).ended(2);
    assert_eq!(place.call(&["list", "--all", "--json"]).lines().len(), 1);
}

#[test]
fn errors_are_told_all_at_once_before_anything_runs() {
    let place = Place::with(
        "bad",
        "start-at: a
states:
  a:
    tool: bash
    arguments: {command: touch ../../../../ran}
    next: b
  c:
    tool: bash
    arguments: {comand: x}
",
    );
    let said = place.call(&["run", "bad"]).ended(1);
    assert!(said.err.contains("bad.yaml:6:"), "{said:?}");
    assert!(said.err.contains("bad.yaml:9:"), "{said:?}");
    assert!(place.call(&["list", "--all", "--json"]).lines().is_empty());
}

#[test]
fn what_holds_an_agent_is_started_otherwise() {
    let place = Place::new();
    place
        .call(&["run", "bugfix"])
        .ended(1)
        .says(&["`interlock start bugfix`"]);
    place.flow("hello", HELLO);
    place.call(&["start", "hello"]).ended(2);
    let file = place.room.file(".flowstate/hello.yaml");
    place
        .call(&["start", &file])
        .ended(1)
        .says(&["not one that guards an agent"]);
}

#[test]
fn a_workflow_of_steps_takes_no_text() {
    let place = Place::with("hello", HELLO);
    place
        .call(&["run", "hello", "text"])
        .ended(2)
        .says(&["--var"]);
    place.call(&["run", "hello", "--input", "x"]).ended(2);
    place.call(&["run", "hello", "-r", "x", "-n", "y"]).ended(2);
    place.call(&["run"]).ended(2);
}

#[test]
fn the_folders_are_those_of_the_run_and_of_its_project() {
    let place = Place::with(
        "where",
        "start-at: a
states:
  a:
    tool: bash
    arguments: {command: 'pwd; ls -A; echo x > here', cwd: ./}
    next: b
  b:
    tool: bash
    arguments: {command: 'pwd; echo $INTERLOCK_RUN $INTERLOCK_STATE $INTERLOCK_PROJECT $INTERLOCK_RUN_DIR', cwd: '@/'}
",
    );
    let said = place.call(&["run", "where", "-n", "w"]).ended(0);
    let status = place.status("w");
    let (run, project) = (status["run"].as_str().unwrap(), place.room.project());
    let directory = status["directory"].as_str().unwrap();
    let project = project.to_str().unwrap();
    assert_eq!(
        said.out,
        format!("{directory}\n{project}\n{run} b {project} {directory}\n")
    );
    assert_eq!(fs::read_to_string(place.file("w", "here")).unwrap(), "x\n");
}

#[test]
fn the_run_directory_goes_after_success_alone() {
    let place = Place::with(
        "clean",
        "start-at: a
variables: {code: '0'}
states:
  a: {tool: bash, arguments: {command: 'echo x > f; exit {{ code }}'}, next: p}
  p: {tool: pause, arguments: {reason: wait}}
",
    );
    place
        .call(&[
            "run",
            "clean",
            "-n",
            "bad",
            "--clean-on-end",
            "--var",
            "code=3",
        ])
        .ended(3);
    assert!(place.file("bad", "f").exists());
    place
        .call(&["run", "clean", "-n", "good", "--clean-on-end"])
        .ended(75);
    let file = place.file("good", "f");
    assert!(file.exists());
    place.by_person(&["resume", "good"]).ended(0);
    assert!(!file.exists());
    assert!(place.call(&["log", "good", "--verify"]).code == Some(0));
}

#[test]
fn programs_do_not_have_the_persons_token() {
    let place = Place::with(
        "token",
        "start-at: a
states:
  a: {tool: bash, arguments: {command: 'echo \"[$INTERLOCK_TOKEN]\"'}}
",
    );
    assert_eq!(place.by_person(&["run", "token"]).ended(0).out, "[]\n");
}

#[test]
fn a_workflow_does_not_hand_on_the_persons_token() {
    let place = Place::with(
        "token",
        "start-at: a
states:
  a:
    tool: bash
    arguments: {command: 'echo \"[$INTERLOCK_TOKEN]\"', env: {INTERLOCK_TOKEN: handed}}
",
    );
    let said = place.by_person(&["run", "token"]).out;
    assert!(!said.contains("handed"), "{said}");
}
