//! Runners that are killed, and those that take over.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use interlock_core::command::{CommandKind, EffectSettlement};
use interlock_runner::{Halt, command};
use serde_json::{Value, json};

use crate::runs::flow::{Room, bash, machine};

/// Starts a run whose second state reports its process and waits; then kills the runner.
fn killed(on_crash: &str) -> (Room, String) {
    let mut b = bash(
        "echo b >> order; [ -e begun ] || exit 0; echo $$ > begun; sleep 600; echo late >> order",
        Some("c"),
    );
    b["on_crash"] = json!(on_crash);
    let states = json!({
        "a": bash("echo a >> order", Some("b")),
        "b": b,
        "c": bash("echo c >> order", None),
    });
    let room = Room::new(machine("a", states));
    let made = Command::new("mkfifo").arg(room.file("begun")).status();
    assert!(made.unwrap().success());
    let mut runner = room.process();
    let mut runner = runner.stdout(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let pipe = fs::File::open(room.file("begun")).unwrap();
    BufReader::new(pipe).read_line(&mut line).unwrap();
    runner.kill().unwrap();
    runner.wait().unwrap();
    fs::remove_file(room.file("begun")).unwrap();
    (room, line.trim().to_owned())
}

fn runs(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('Z')
    })
}

#[test]
fn a_state_that_was_cut_off_is_run_again_and_those_before_are_not() {
    let (room, id) = killed("retry");
    assert!(runs(&id));
    assert_eq!(room.drive(), Halt::Over);
    assert!(!runs(&id));
    assert_eq!(
        (room.code(), room.read("order")),
        (Some(0), "a\nb\nb\nc\n".to_owned())
    );
}

#[test]
fn one_that_is_to_fail_has_failed() {
    let (room, id) = killed("fail");
    assert_eq!(room.drive(), Halt::Over);
    assert!(!runs(&id));
    assert_eq!(
        (room.code(), room.read("order")),
        (Some(1), "a\nb\n".to_owned())
    );
}

#[test]
fn one_that_may_have_written_waits_for_a_person() {
    for (how, code, order) in [
        (EffectSettlement::Again, 0, "a\nb\nb\nc\n"),
        (EffectSettlement::Failed(json!(7)), 7, "a\nb\n"),
        (EffectSettlement::Done(Value::from("x")), 0, "a\nb\nc\n"),
    ] {
        let (room, id) = killed("ask");
        assert_eq!(room.drive(), Halt::Standing);
        assert!(!runs(&id));
        assert_eq!(room.drive(), Halt::Standing);
        let mut host = room.host();
        let settle = CommandKind::SettleEffect {
            path: None,
            how,
            by: "ana".to_owned(),
        };
        command(&room.machine, &mut host, &settle).unwrap();
        assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
        assert_eq!(
            (room.code(), room.read("order")),
            (Some(code), order.to_owned())
        );
    }
}

#[test]
fn a_runner_that_loses_its_log_leaves_the_run_as_after_a_crash() {
    let room = Room::new(machine("a", json!({"a": bash("echo a >> order", None)})));
    drop(room.host());
    // Its result was never reported: it counts as interrupted.
    assert_eq!(room.drive(), Halt::Standing);
    assert_eq!(room.read("order"), "");
}
