//! Cancellation from outside, while programs run.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    thread,
};

use interlock_core::command::CommandKind;
use interlock_runner::{EmbeddedError, Halt, LeaseError};
use interlock_store::submit;
use serde_json::json;

use crate::runs::flow::{Room, bash, machine, now_ms, or_else};

/// Creates the pipe `begun` in the run directory, to which a state writes when it runs.
fn pipe(room: &Room) {
    let made = Command::new("mkfifo").arg(room.file("begun")).status();
    assert!(made.unwrap().success());
}

/// Waits until a state has written to the pipe.
fn begun(room: &Room) -> String {
    let mut line = String::new();
    let pipe = fs::File::open(room.file("begun")).unwrap();
    BufReader::new(pipe).read_line(&mut line).unwrap();
    line
}

fn waiting() -> serde_json::Value {
    let command = "trap 'echo end >> order; exit 0' TERM; echo x > begun; sleep 600 & wait";
    or_else(bash(command, None), None, "b")
}

#[test]
fn a_run_cancelled_through_its_log_ends_its_programs() {
    let states = json!({"a": waiting(), "b": bash("echo b >> order", None)});
    let room = Room::new(machine("a", states));
    pipe(&room);
    let halt = thread::scope(|scope| {
        let driven = scope.spawn(|| room.drive());
        begun(&room);
        let (mut log, mut run) = (room.log(), room.load());
        let cancel = interlock_core::command::Command {
            at_ms: now_ms(),
            kind: CommandKind::Cancel {
                by: "ana".to_owned(),
            },
        };
        submit(&mut log, &room.machine, &mut run, &cancel).unwrap();
        driven.join().unwrap()
    });
    assert_eq!((halt, room.code()), (Halt::Over, Some(130)));
    assert_eq!(room.read("order"), "end\n");
}

#[test]
fn the_handler_of_130_runs_when_the_program_has_ended() {
    let states = json!({
        "a": or_else(waiting(), Some(130), "c"),
        "b": bash("echo b >> order", None),
        "c": bash("echo c >> order", None),
    });
    let room = Room::new(machine("a", states));
    pipe(&room);
    let mut host = room.host();
    let canceller = host.canceller();
    let halt = thread::scope(|scope| {
        scope.spawn(|| {
            begun(&room);
            canceller.cancel("ana");
        });
        host.drive(&room.machine).unwrap()
    });
    assert_eq!((halt, room.code()), (Halt::Over, Some(0)));
    assert_eq!(room.read("order"), "end\nc\n");
}

#[test]
fn asked_twice_a_program_that_ignores_it_is_killed_at_once() {
    let command = "trap '' TERM; echo x > begun; while :; do sleep 600; done";
    let room = Room::new(machine("a", json!({"a": bash(command, None)})));
    pipe(&room);
    let mut host = room.host();
    let canceller = host.canceller();
    let halt = thread::scope(|scope| {
        scope.spawn(|| {
            begun(&room);
            canceller.cancel("ana");
            canceller.cancel("ana");
        });
        host.drive(&room.machine).unwrap()
    });
    assert_eq!((halt, room.code()), (Halt::Over, Some(130)));
}

#[test]
fn a_second_runner_is_refused_and_told_who_is_first() {
    let room = Room::new(machine(
        "a",
        json!({"a": waiting(), "b": bash("true", None)}),
    ));
    pipe(&room);
    let mut first = room.process();
    let mut first = first.stdout(Stdio::null()).spawn().unwrap();
    begun(&room);
    let places = room.load().places().cloned().unwrap();
    let context = interlock_runner::RunContext::new("r", places, room.log().folder().work());
    let refused = interlock_runner::Embedded::take(room.log(), context).unwrap_err();
    let EmbeddedError::Lease(LeaseError::Held(Some(holder))) = refused else {
        panic!("{refused}");
    };
    assert_eq!(holder.pid, first.id());
    let second = room.run_process();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(said.contains(&format!("process {}", first.id())), "{said}");
    let (mut log, mut run) = (room.log(), room.load());
    let command = CommandKind::Cancel {
        by: "ana".to_owned(),
    };
    let cancel = interlock_core::command::Command {
        at_ms: now_ms(),
        kind: command,
    };
    submit(&mut log, &room.machine, &mut run, &cancel).unwrap();
    assert!(first.wait().unwrap().success());
}
