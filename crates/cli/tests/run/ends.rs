//! Exit codes, signals, and a reader that disconnects.

use std::{fs, process::Stdio};

use crate::run::place::{Place, begin, end, signal, told};

#[test]
fn a_run_ends_with_the_code_of_its_workflow() {
    let place = Place::with(
        "codes",
        "start-at: a
variables: {code: '0'}
states:
  a:
    tool: bash
    arguments: {command: 'exit {{ code }}'}
    on-error: {4: four}
  four:
    tool: bash
    arguments: {command: exit 9}
",
    );
    for (code, wanted) in [
        ("0", 0),
        ("3", 3),
        ("2", 2),
        ("75", 75),
        ("255", 255),
        ("4", 9),
    ] {
        let name = format!("c{code}");
        let variable = format!("code={code}");
        place
            .call(&["run", "codes", "-n", &name, "--var", &variable])
            .ended(wanted);
        let status = place.status(&name);
        assert_eq!(status["code"], wanted);
        let word = if wanted == 0 { "completed" } else { "failed" };
        assert_eq!(status["status"], word);
    }
    let failed = place.status("c3");
    assert_eq!(failed["failure"]["code"], 3);
    let handled = place.status("c4");
    assert_eq!(handled["handled"]["code"], "4");
    assert_eq!(handled["handled"]["state"], "a");
}

/// A step that waits for a signal and reports it.
const WAITS: &str = "start-at: a
states:
  a:
    tool: bash
    arguments: {command: \"trap 'echo asked; exit 5' TERM; echo x > begun; sleep 600 & wait\", cwd: '@/'}
    on-error: {_: b}
  b:
    tool: bash
    arguments: {command: echo other}
";

#[test]
fn signals_cancel_the_run() {
    for name in ["INT", "TERM", "HUP"] {
        let place = Place::with("waits", WAITS);
        let pipe = place.pipe("begun");
        let run = begin(place.command(&["run", "waits", "-n", "w"]));
        told(&pipe);
        signal(&run, name);
        let said = end(run)
            .ended(130)
            .says(&["was cancelled", "interlock resume"]);
        assert_eq!(said.out, "asked\n", "{name}");
        assert_eq!(place.status("w")["status"], "cancelled");
    }
}

#[test]
fn a_handler_of_130_takes_a_cancellation() {
    let flow = WAITS.replace("_: b", "130: b");
    let place = Place::with("waits", &flow);
    let pipe = place.pipe("begun");
    let run = begin(place.command(&["run", "waits", "-n", "w"]));
    told(&pipe);
    signal(&run, "TERM");
    assert_eq!(end(run).ended(0).out, "asked\nother\n");
}

#[test]
fn a_second_signal_ends_what_does_not_end() {
    let flow = WAITS.replace("echo asked; exit 5", "echo asked > second");
    let flow = flow.replace("sleep 600 & wait", "while :; do sleep 600 & wait; done");
    let place = Place::with("waits", &flow);
    // A pipe for each line: the writer of the first may not have closed it yet.
    let (pipe, second) = (place.pipe("begun"), place.pipe("second"));
    let run = begin(place.command(&["run", "waits", "-n", "w"]));
    told(&pipe);
    signal(&run, "TERM");
    assert_eq!(told(&second), "asked");
    signal(&run, "TERM");
    end(run).ended(130);
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let place = Place::with("waits", &WAITS.replace("sleep 600 & wait", "cat go"));
    let pipe = place.pipe("begun");
    let go = place.pipe("go");
    let mut command = place.room.command("nohup");
    let program = crate::run::place::INTERLOCK;
    command.args([program, "run", "waits"]).stdin(Stdio::null());
    let run = begin(command);
    told(&pipe);
    signal(&run, "HUP");
    fs::write(go, "on\n").unwrap();
    assert_eq!(end(run).ended(0).out, "on\n");
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let place = Place::with(
        "much",
        "start-at: a
states:
  a: {tool: bash, arguments: {command: 'echo x > begun; cat go; seq 100000', cwd: '@/'}, next: b}
  b: {tool: bash, arguments: {command: echo done > done}}
",
    );
    let (pipe, go) = (place.pipe("begun"), place.pipe("go"));
    let mut run = begin(place.command(&["run", "much", "-n", "m"]));
    told(&pipe);
    drop((run.stdout.take(), run.stderr.take()));
    fs::write(go, "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(place.status("m")["status"], "completed");
    assert!(place.file("m", "done").exists());
}

#[test]
fn cancel_tells_the_process_that_carries_it_out() {
    let place = Place::with("waits", WAITS);
    let pipe = place.pipe("begun");
    let run = begin(place.command(&["run", "waits", "-n", "w"]));
    told(&pipe);
    let id = run.id();
    assert_eq!(place.status("w")["runner"]["pid"], id);
    place
        .call(&["cancel", "w"])
        .ended(1)
        .says(&["only a person"]);
    place
        .by_person(&["resume", "w"])
        .ended(1)
        .says(&[&format!("process {id} ")]);
    place
        .by_person(&["cancel", "w"])
        .ended(0)
        .says(&[&format!("process {id} ")]);
    assert_eq!(end(run).ended(130).out, "asked\n");
}

#[test]
fn a_failure_that_nobody_reads_is_one() {
    let place = Place::with("bad", "start-at: nowhere\nstates: {}\n");
    let mut command = place.command(&["run", "bad"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stderr(writer).stdout(Stdio::null()).status();
    assert_eq!(status.unwrap().code(), Some(1));
}

#[test]
fn a_run_told_to_stand_still_goes_on_in_its_own_process() {
    let place = Place::with(
        "two",
        "start-at: a
states:
  a: {tool: bash, arguments: {command: 'echo x > begun; cat go', cwd: '@/'}, next: b}
  b: {tool: bash, arguments: {command: echo b}}
",
    );
    let (pipe, go) = (place.pipe("begun"), place.pipe("go"));
    let run = begin(place.command(&["run", "two", "-n", "t"]));
    told(&pipe);
    place.by_person(&["pause", "t"]).ended(0);
    fs::write(go, "a\n").unwrap();
    assert_eq!(place.status("t")["status"], "paused");
    place
        .by_person(&["resume", "t", "--adopt"])
        .ended(1)
        .says(&["carries this run out"]);
    place.by_person(&["resume", "t"]).ended(0);
    assert_eq!(end(run).ended(0).out, "a\nb\n");
}
