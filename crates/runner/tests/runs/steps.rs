//! Transitions from one state to the next.

use interlock_core::{command::CommandKind, event::Event, machine::Object};
use interlock_runner::Halt;
use serde_json::json;

use crate::runs::flow::{Room, bash, input, into, machine, or_else, text, to};

#[test]
fn states_run_in_order_and_pass_what_they_captured() {
    let room = Room::new(machine(
        "a",
        json!({
            "a": into(bash("echo ' 1.10 '", Some("b")), "v"),
            "b": into(bash("echo \"<{{ v }}>\" | tee out; exit 0", None), "w"),
        }),
    ));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(room.code(), Some(0));
    assert_eq!(
        (room.variable("v"), room.variable("w")),
        (json!("1.10"), json!("<1.10>"))
    );
    assert_eq!(room.read("out"), "<1.10>\n");
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(room.starts(), 2);
}

#[test]
fn a_code_is_routed_or_ends_the_run() {
    let states = |code: &str| {
        let a = or_else(bash(code, None), Some(3), "b");
        json!({
            "a": or_else(a, None, "c"),
            "b": bash("exit 9", None),
            "c": bash("true", None),
        })
    };
    for (command, code) in [("exit 3", 9), ("exit 4", 0), ("kill -9 $$", 0), ("true", 0)] {
        let room = Room::new(machine("a", states(command)));
        assert_eq!(room.drive(), Halt::Over);
        assert_eq!(room.code(), Some(code), "{command}");
    }
}

#[test]
fn another_try_follows_when_its_time_has_come() {
    let mut a = into(
        bash(
            "echo x >> tries; test $(wc -l < tries) = 3 && echo ok",
            None,
        ),
        "v",
    );
    a["retry"] = json!({"attempts": 5, "wait_ms": 20, "backoff": "2", "wait_max_ms": 1000});
    let room = Room::new(machine("a", json!({ "a": a })));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(
        (room.read("tries"), room.variable("v")),
        ("x\nx\nx\n".to_owned(), json!("ok"))
    );
    assert_eq!(room.starts(), 3);
}

#[test]
fn a_file_that_a_text_names_is_read_when_the_state_is_entered() {
    let room = Room::new(machine(
        "a",
        json!({
            "a": bash("printf one > f", Some("b")),
            "b": into(bash("echo {{ file f }}", Some("c")), "v"),
            "c": or_else(bash("echo {{ file absent }}", None), Some(1), "d"),
            "d": bash("true", None),
        }),
    ));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!((room.code(), room.variable("v")), (Some(0), json!("one")));
}

#[test]
fn branches_run_at_once_and_settle_in_order() {
    // Each waits for the other: in sequence, they would never end.
    let meet = |own: &str, other: &str| {
        format!("touch {own}; until [ -e {other} ]; do :; done; echo {own}")
    };
    let branch = |command: &str, key: &str| {
        let mut state = into(bash(command, None), key);
        state["shown_as"] = json!("");
        state
    };
    let fork = json!({
        "over": {"branches": {
            "0": {"initial": "f/0", "terminal": ""},
            "1": {"initial": "f/1", "terminal": ""},
            "2": {"initial": "f/2", "terminal": ""},
        }},
        "join": "settled",
        "merge": "captured",
    });
    let f = json!({"activity": {"parallel": fork}, "on": {"done": {"transitions": [to(None)]}}});
    let room = Room::new(machine(
        "f",
        json!({
            "f": or_else(f, Some(4), "h"),
            "h": bash("echo {{ a }}{{ b }} > handled", None),
            "f/0": branch(&meet("x", "y"), "a"),
            "f/1": branch(&meet("y", "x"), "b"),
            "f/2": branch("exit 4", "c"),
        }),
    ));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(
        (room.code(), room.read("handled")),
        (Some(0), "xy\n".to_owned())
    );
}

#[test]
fn an_output_that_a_branch_of_the_workflow_reads_is_whole() {
    let lines = 60_000;
    let mut a = bash(&format!("seq -f line%.0f {lines}"), None);
    a["on"]["done"]["transitions"] = json!([
        {"guards": [{"inline": {"output": "other"}}], "target": {"state": "a"}},
        to(None),
    ]);
    let room = Room::new(machine("a", json!({ "a": a })));
    assert_eq!(room.drive(), Halt::Over);
    let output = room.load().root.line.output;
    assert_eq!(output.as_str().unwrap().lines().count(), lines);
}

#[test]
fn what_a_test_wrote_to_its_file_is_there() {
    let test = json!({
        "activity": {"test": {"left": text("a"), "op": "equal", "right": text("a")}},
        "capture": {"file": text("./found")},
        "on": {"done": {"transitions": [to(None)]}},
    });
    let room = Room::new(machine("t", json!({ "t": test })));
    assert_eq!(room.drive(), Halt::Over);
    assert_eq!(room.read("found"), "true");
}

#[test]
fn what_only_waits_for_a_person_stands() {
    let pause = json!({
        "activity": {"pause": input("reason", "wait")},
        "on": {"done": {"transitions": [to(Some("b"))]}},
    });
    let room = Room::new(machine(
        "p",
        json!({"p": pause, "b": bash("echo on > on", None)}),
    ));
    assert_eq!(room.drive(), Halt::Standing);
    let mut host = room.host();
    let context = host.run_context().clone();
    let resumed = interlock_runner::resume_pause(&room.machine, &mut host, &context).unwrap();
    assert_eq!(resumed, interlock_runner::Resumed::GoesOn);
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
    assert_eq!(room.read("on"), "on\n");
}

#[test]
fn a_pause_goes_on_when_its_condition_holds() {
    let input = json!({"object": {
        "reason": {"text": text("wait")},
        "condition": {"object": {"command": {"text": text("echo looked; test -e ready")}}},
    }});
    let pause = json!({
        "activity": {"pause": input},
        "on": {"done": {"transitions": [to(None)]}},
    });
    let room = Room::new(machine("p", json!({ "p": pause })));
    let mut host = room.host();
    let context = host.run_context().clone();
    let mut resume = || interlock_runner::resume_pause(&room.machine, &mut host, &context).unwrap();
    let interlock_runner::Resumed::NotYet(failed) = resume() else {
        panic!("it went on");
    };
    assert_eq!((failed.code, failed.stdout.as_str()), (1, "looked\n"));
    std::fs::write(room.file("ready"), "").unwrap();
    assert_eq!(resume(), interlock_runner::Resumed::GoesOn);
    assert_eq!(room.code(), Some(0));
    assert_eq!(resume(), interlock_runner::Resumed::NothingPaused);
}

#[test]
fn the_condition_of_a_pause_sees_the_values_and_files_of_its_moment() {
    let input = json!({"object": {
        "reason": {"text": text("wait")},
        "condition": {"object": {"command": {"text": text("test '{{ word }}{{ file wanted }}' = 'go on'")}}},
    }});
    let pause = json!({
        "activity": {"pause": input},
        "on": {"done": {"transitions": [to(None)]}},
    });
    let states = json!({ "a": into(bash("printf '%s' ' on' > wanted; echo stop", Some("p")), "word"), "p": pause });
    let room = Room::new(machine("a", states));
    assert_eq!(room.drive(), Halt::Standing);
    let mut host = room.host();
    let context = host.run_context().clone();
    let resume =
        |host: &mut _| interlock_runner::resume_pause(&room.machine, host, &context).unwrap();
    let stays = resume(&mut host);
    assert!(matches!(stays, interlock_runner::Resumed::NotYet(_)));
    let set = CommandKind::SetVariables {
        values: Object::from_iter([("word".to_owned(), json!("go"))]),
        by: "ana".to_owned(),
    };
    interlock_runner::command(&room.machine, &mut host, &set).unwrap();
    std::fs::remove_file(room.file("wanted")).unwrap();
    let interlock_runner::Resumed::NotYet(failed) = resume(&mut host) else {
        panic!("it went on without its file");
    };
    assert!(failed.message.contains("wanted"), "{}", failed.message);
    std::fs::write(room.file("wanted"), " on").unwrap();
    assert_eq!(resume(&mut host), interlock_runner::Resumed::GoesOn);
}

#[test]
fn what_a_program_warned_of_is_in_the_log_although_it_succeeded() {
    let room = Room::new(machine(
        "a",
        json!({"a": bash("echo out; echo careful >&2", None)}),
    ));
    assert_eq!(room.drive(), Halt::Over);
    let told = room.events().into_iter().find_map(|event| match event {
        Event::ActivityEnded { output, stderr, .. } => Some((output, stderr)),
        _ => None,
    });
    assert_eq!(told, Some((json!("out\n"), "careful\n".to_owned())));
}

#[test]
fn an_output_of_a_gigabyte_leaves_memory_as_it_was() {
    let room = Room::new(machine(
        "a",
        json!({
            "a": bash("yes 0123456789abcde | head -c 1000000000", Some("b")),
            // The parent of a state's bash is the runner.
            "b": into(bash("sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status", None), "peak"),
        }),
    ));
    let mut process = room.process();
    let ended = process
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(ended.success());
    let peak = room.variable("peak");
    let kib: u64 = peak.as_str().unwrap().parse().unwrap();
    assert!(kib < 64 * 1024, "{kib} KiB");
}
