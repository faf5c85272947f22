//! Runs that wait: questions, pauses, and the person who resumes them.

use std::fs;

use interlock_testkit::terminal::{self, Terminal};

use crate::run::place::{INTERLOCK, Place};

const ASK: &str = "start-at: a
states:
  a:
    tool: ask-user
    arguments: {question: Where to?, options: [dev, prod]}
    output: var(env)
    next: b
  b:
    tool: bash
    arguments: {command: 'echo to {{ env }}'}
";

#[test]
fn without_a_terminal_a_question_waits() {
    let place = Place::with("ask", ASK);
    place
        .call(&["run", "ask", "-n", "q"])
        .ended(75)
        .says(&["Where to?", "--answer"]);
    let listed = place.call(&["list", "--paused", "--json"]).lines();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["name"], "q");
    assert_eq!(listed[0]["waits"][0]["message"], "Where to?");
    place
        .call(&["resume", "q"])
        .ended(1)
        .says(&["only a person"]);
    place
        .call(&["run", "ask", "-r", "q"])
        .ended(1)
        .says(&["only a person"]);
    place.by_person(&["resume", "q"]).ended(75);
    place
        .by_person(&["resume", "q", "--answer", "moon"])
        .ended(1)
        .says(&["none of the answers"]);
    let said = place.by_person(&["resume", "q", "--answer", "2"]).ended(0);
    assert_eq!(said.out, "to prod\n");
    place
        .by_person(&["resume", "q", "--answer", "2"])
        .ended(1)
        .says(&["run_over"]);
}

#[test]
fn at_a_terminal_the_question_is_asked() {
    let place = Place::with("ask", ASK);
    let mut terminal = Terminal::start(&place.command(&["run", "ask"]), 24, 100).unwrap();
    terminal
        .wait_for("the question", |screen| screen.contains("2) prod\n> "))
        .unwrap();
    terminal.press("1\n").unwrap();
    terminal
        .wait_for("the next step", |screen| screen.contains("to dev"))
        .unwrap();
    assert!(terminal.end().unwrap().success());
}

#[test]
fn nobody_is_asked_where_that_was_said() {
    let place = Place::with("ask", ASK);
    let mut command = place.room.command(INTERLOCK);
    let output = terminal::output(command.args(["run", "ask", "--headless"])).unwrap();
    assert_eq!(output.status.code(), Some(75));
}

const PAUSE: &str = "start-at: a
variables: {wanted: no}
states:
  a:
    tool: pause
    arguments:
      reason: Until it is there
      condition: {tool: bash, command: 'test {{ wanted }} = yes || { echo not {{ wanted }}; exit 1; }'}
    next: b
  b:
    tool: bash
    arguments: {command: echo on}
";

#[test]
fn a_pause_goes_on_when_its_condition_holds() {
    let place = Place::with("nightly", PAUSE);
    place
        .call(&["run", "nightly", "-n", "p"])
        .ended(75)
        .says(&["Until it is there"]);
    let said = place.by_person(&["resume", "p"]).ended(75);
    assert_eq!(said.out, "not no\n");
    place
        .by_person(&["resume", "p", "--answer", "x"])
        .ended(1)
        .says(&["the run asks nothing"]);
    place
        .by_person(&["resume", "p", "--var", "wantd=yes"])
        .ended(1)
        .says(&["did you mean `wanted`?"]);
    let said = place
        .by_person(&["run", "nightly", "-r", "p", "--var", "wanted=yes"])
        .ended(0);
    assert_eq!(said.out, "on\n");
    assert!(place.events("p").contains(&"VariablesSet".to_owned()));
}

#[test]
fn a_failed_run_goes_on_where_it_failed() {
    let place = Place::with(
        "steps",
        "start-at: a
variables: {code: '3'}
states:
  a: {tool: bash, arguments: {command: echo a >> order}, next: b}
  b: {tool: bash, arguments: {command: 'echo b{{ code }} >> order; exit {{ code }}'}, next: c}
  c: {tool: bash, arguments: {command: echo c >> order}}
",
    );
    place
        .call(&["run", "steps", "-n", "s"])
        .ended(3)
        .says(&["with code 3"]);
    place.by_person(&["resume", "s"]).ended(3);
    place
        .by_person(&["resume", "s", "--var", "code=0"])
        .ended(0);
    let order = fs::read_to_string(place.file("s", "order")).unwrap();
    assert_eq!(order, "a\nb3\nb3\nb0\nc\n");
    place
        .by_person(&["resume", "s"])
        .ended(1)
        .says(&["run_over"]);
}

#[test]
fn a_cancelled_run_goes_on_where_it_was_cut_off() {
    let place = Place::with("nightly", PAUSE);
    place.call(&["run", "nightly", "-n", "p"]).ended(75);
    place.by_person(&["cancel", "p"]).ended(0);
    assert!(place.call(&["list", "--json"]).lines().is_empty());
    assert_eq!(place.call(&["list", "--all", "--json"]).lines().len(), 1);
    place.by_person(&["resume", "p"]).ended(75);
    let said = place.by_person(&["resume", "p", "--var", "wanted=yes"]);
    assert_eq!(said.ended(0).out, "on\n");
}

#[test]
fn a_run_that_a_person_stopped_goes_on_by_their_word() {
    let place = Place::with("nightly", PAUSE);
    place.call(&["run", "nightly", "-n", "p"]).ended(75);
    place
        .by_person(&["pause", "p", "--reason", "later"])
        .ended(0);
    let listed = place.call(&["list", "--paused", "--json"]).lines();
    assert_eq!(listed[0]["waits"][0]["message"], "later");
    let said = place.by_person(&["resume", "p", "--var", "wanted=yes"]);
    assert_eq!(said.ended(0).out, "on\n");
}

#[test]
fn who_is_meant_must_be_clear() {
    let place = Place::with("ask", ASK);
    place.by_person(&["resume", "q"]).ended(1).says(&["`q`"]);
    place.call(&["run", "ask", "-n", "q"]).ended(75);
    place.flow("other", ASK);
    place.call(&["run", "other", "-n", "q"]).ended(75);
    let said = place.by_person(&["resume", "q"]).ended(1);
    for flow in ["ask", "other"] {
        let status = place.status(&format!("{flow}/q"));
        assert!(
            said.err.contains(status["run"].as_str().unwrap()),
            "{said:?}"
        );
    }
    place
        .by_person(&["resume", "other/q", "--answer", "dev"])
        .ended(0);
    for (arguments, code) in [
        (["resume", "ask/q", "--next"], 2),
        (["resume", "ask/q", "--fail-with=0"], 2),
        (["resume", "ask/q", "--fail-with=3"], 1),
    ] {
        place.by_person(&arguments).ended(code);
    }
}
