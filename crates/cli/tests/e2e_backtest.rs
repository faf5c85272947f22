//! Backtests with the real clients: their recordings of a guarded session are judged as in Interlock's log.

use interlock_testkit::{
    claude::{Session, Version},
    interlock::Interlock,
    provider::{Say, Script, call},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn bash(command: &str) -> Say {
    call("Bash", json!({"command": command, "description": "a line"}))
}

fn transition(event: &str) -> Say {
    call(
        "mcp__interlock__interlock_transition",
        json!({"event": event}),
    )
}

/// Returns the verdict on each call by its id, from the log.
fn of_log(events: &[Value]) -> Vec<(String, &'static str)> {
    let verdict = |event: &Value| match event["event"].as_str() {
        Some("CallAllowed") => Some("allow"),
        Some("CallDenied") => Some("deny"),
        _ => None,
    };
    let told = events.iter().filter_map(|event| {
        let id = event["call"]["id"].as_str()?.to_owned();
        Some((id, verdict(event)?))
    });
    told.collect()
}

/// Returns the same from a backtest of the transcript.
fn of_transcript(session: &Value) -> Vec<(String, String)> {
    let calls = session["calls"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    calls
        .map(|call| (text(&call["id"]), text(&call["verdict"])))
        .collect()
}

fn the_transcript_and_the_log_agree(version: Version) {
    let room = Room::new().unwrap();
    room.install("claude", &version.program().unwrap()).unwrap();
    room.write("sums.py", "def add(a, b):\n    return a + b + 1\n")
        .unwrap();
    room.write("check.py", "import sums\nassert sums.add(1, 1) == 2\n")
        .unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    interlock.init().unwrap();
    let workflow = json!({
        "id": "bugfix", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read"], "on": {"READY": "fixing"}},
            "fixing": {
                "allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["python3 check.py"],
                "on": {"DONE": {"target": "fixed", "guard": "tested"}},
            },
            "fixed": {"type": "final"},
        },
        "guards": {"tested": {"evidence": {"command": "python3 check.py", "since": "last_edit"}}},
    });
    room.write("workflow.json", &workflow.to_string()).unwrap();
    let run = interlock.start("workflow.json").unwrap();
    let read = || call("Read", json!({"file_path": room.file("sums.py")}));
    let edit = || {
        call(
            "Edit",
            json!({"file_path": room.file("sums.py"), "old_string": "a + b + 1", "new_string": "a + b"}),
        )
    };
    let steps = vec![
        read(),
        edit(),
        bash("python3 check.py"),
        transition("READY"),
        bash("python3 check.py"),
        transition("DONE"),
        edit(),
        bash("rm sums.py"),
        bash("python3 check.py"),
        transition("DONE"),
    ];
    let count = steps.len();
    let outcome = Session::new(version, &room, Script::calls(steps))
        .run()
        .unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    assert_eq!(interlock.status(&run).unwrap()["state"], "fixed");

    // The log, judged again: no differences.
    let found = interlock
        .json(&["backtest", "workflow.json", &run])
        .unwrap();
    let session = &found["sessions"][0];
    assert_eq!(
        (&session["differing"], &session["not_judged"]),
        (&json!(0), &json!([])),
        "{found:#}"
    );
    assert_eq!(session["then"], session["now"], "{found:#}");

    // The transcript: each call has the verdict of the log.
    let projects = room.home().join(".claude/projects");
    let projects = projects.to_string_lossy().into_owned();
    let found = interlock
        .json(&["backtest", "workflow.json", &projects])
        .unwrap();
    let session = &found["sessions"][0];
    assert_eq!(session["transitions"], "recorded", "{found:#}");
    let log = of_log(&interlock.events(&run).unwrap());
    let log: Vec<_> = log
        .into_iter()
        .map(|(id, verdict)| (id, verdict.to_owned()))
        .collect();
    assert_eq!(
        (log.len(), of_transcript(session)),
        (count, log),
        "{found:#}"
    );
}

interlock_testkit::with_both_versions! {
    the_transcript_and_the_log_agree
}
