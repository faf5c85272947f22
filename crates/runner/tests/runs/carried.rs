//! Runs that are carried for a log on another machine: given back while they wait, and abandoned.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Command,
    thread,
    time::Duration,
};

use interlock_core::event::Event;
use interlock_runner::{CarriedTerms, Embedded, Halt};
use serde_json::json;

use crate::runs::flow::{Room, bash, machine};

fn carried(room: &Room, is_interrupted: bool) -> Embedded {
    let mut host = room.host();
    host.set_carried(CarriedTerms {
        is_interrupted,
        rest_after: Duration::from_secs(1),
    });
    host
}

/// Returns how many effects the log says were lost.
fn losses(room: &Room) -> usize {
    let events = room.events();
    let is_lost = |event: &&Event| matches!(event, Event::EffectLost { .. });
    events.iter().filter(is_lost).count()
}

#[test]
fn an_abandoned_run_ends_its_programs_and_records_nothing_more() {
    for gently in [false, true] {
        let command = "trap 'exit 0' TERM; echo $$ > begun; sleep 600 & wait";
        let room = Room::new(machine("a", json!({"a": bash(command, None)})));
        let made = Command::new("mkfifo").arg(room.file("begun")).status();
        assert!(made.unwrap().success());
        let mut host = carried(&room, false);
        let abandoner = host.abandoner();
        let before = room.load().seq;
        let (driven, id) = thread::scope(|scope| {
            let seen = scope.spawn(|| {
                let mut line = String::new();
                let pipe = fs::File::open(room.file("begun")).unwrap();
                BufReader::new(pipe).read_line(&mut line).unwrap();
                if gently {
                    abandoner.abandon_gently();
                } else {
                    abandoner.abandon();
                }
                line.trim().to_owned()
            });
            let driven = host.drive(&room.machine);
            (driven, seen.join().unwrap())
        });
        let error = driven.unwrap_err().to_string();
        assert!(error.contains("no longer carries"), "{error}");
        drop(host);
        let stat = fs::read_to_string(format!("/proc/{id}/stat"));
        assert!(!stat.is_ok_and(|stat| !stat.contains(") Z ")));
        // Its end would have been an outcome of the state.
        assert_eq!(room.load().seq, before);
        // Nothing is started any more, either.
        let mut host = carried(&room, false);
        host.abandoner().abandon();
        assert!(host.drive(&room.machine).is_err());
        assert_eq!(room.load().seq, before);
    }
}

#[test]
fn a_run_that_only_waits_is_given_back_until_it_is_due() {
    let mut state = bash("exit 3", None);
    state["retry"] =
        json!({"attempts": 2, "wait_ms": 600_000, "backoff": "1", "wait_max_ms": 600_000});
    let room = Room::new(machine("a", json!({"a": state})));
    let halt = carried(&room, false).drive(&room.machine).unwrap();
    let Halt::Waiting(until) = halt else {
        panic!("{halt:?}");
    };
    assert!(until > crate::runs::flow::now_ms() + 500_000);
}

#[test]
fn the_log_says_whether_effects_were_interrupted_and_not_the_lock_of_this_machine() {
    let waits = || {
        let mut state = bash("echo ran >> order", None);
        state["on_crash"] = json!("retry");
        Room::new(machine("a", json!({"a": state})))
    };
    // The carrier before was lost on another machine: nothing here tells of it.
    let room = waits();
    assert_eq!(
        carried(&room, true).drive(&room.machine).unwrap(),
        Halt::Over
    );
    assert_eq!((losses(&room), room.read("order")), (1, "ran\n".to_owned()));
    // Another machine has carried the run to its next effect since this one was lost.
    let room = waits();
    drop(room.host());
    assert_eq!(
        carried(&room, false).drive(&room.machine).unwrap(),
        Halt::Over
    );
    assert_eq!((losses(&room), room.read("order")), (0, "ran\n".to_owned()));
}
