//! Many hook processes on one run, and killed hook processes: the run's log stays intact.
#![expect(
    clippy::print_stderr,
    reason = "a seed must be seen when its test fails"
)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use interlock_testkit::dice::Dice;
use interlock_testkit::interlock::{Interlock, before_tool};
use interlock_testkit::room::Room;
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const SESSION: &str = "5f1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21";
const HOOKS_AT_ONCE: usize = 64;
const KILLS: usize = 200;
const WHOLE: usize = 5;
/// Locked by a test while it runs, because processes of the other one would affect its timing.
static ALONE: Mutex<()> = Mutex::new(());

/// Starts a run in which only `Read` is allowed, `calls_max` times.
fn start(room: &Room, calls_max: usize) -> String {
    let workflow = json!({
        "id": "reading", "initial": "reading",
        "states": {
            "reading": {"allowed_tools": ["Read"], "max_iterations": calls_max, "on": {"DONE": "complete"}},
            "complete": {"type": "final"},
        },
    });
    room.write("workflow.json", &workflow.to_string()).unwrap();
    room.write("a.txt", "one\n").unwrap();
    Interlock::new(INTERLOCK, room)
        .start_for_session("workflow.json", SESSION)
        .unwrap()
}

fn reading(room: &Room, id: &str) -> Value {
    let input = json!({"file_path": room.file("a.txt")});
    before_tool(room, SESSION, id, "Read", &input)
}

/// A hook process's answer to the client.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Allowed,
    /// With its reason.
    Denied(String),
    /// Killed before it had printed its only document.
    None,
}

fn answer(output: &Output) -> Answer {
    if output.status.code() == Some(2) {
        return Answer::Denied(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Answer::None;
    };
    let verdict = &document["hookSpecificOutput"];
    if verdict["permissionDecision"] == "deny" {
        let reason = verdict["permissionDecisionReason"].as_str().unwrap();
        return Answer::Denied(reason.to_owned());
    }
    Answer::Allowed
}

#[test]
fn sixty_four_hooks_at_once_share_ten_calls() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = start(&room, 10);
    let answers: Vec<Answer> = thread::scope(|scope| {
        let (room, interlock) = (&room, &interlock);
        let ask = |number: usize| {
            let child = interlock
                .hook(&reading(room, &format!("toolu_{number}")))
                .unwrap();
            answer(&child.wait_with_output().unwrap())
        };
        let hooks: Vec<_> = (0..HOOKS_AT_ONCE)
            .map(|number| scope.spawn(move || ask(number)))
            .collect();
        hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
    });
    let (allowed, denied): (Vec<&Answer>, Vec<&Answer>) = answers
        .iter()
        .partition(|answer| **answer == Answer::Allowed);
    assert_eq!(allowed.len(), 10, "{denied:#?}");
    for answer in denied {
        let over = matches!(answer, Answer::Denied(reason) if reason.contains("iteration_limit"));
        assert!(over, "{answer:?}");
    }
    assert_eq!(
        interlock.status(&run).unwrap()["limits"]["iterations"],
        json!([10, 10])
    );
    interlock.verify(&run).unwrap();
}

#[test]
fn a_denial_that_nobody_reads_is_exit_code_2() {
    let room = Room::new().unwrap();
    start(&room, 10);
    let forbidden = json!({"file_path": room.file("b.txt"), "content": "x"});
    let forbidden = before_tool(&room, SESSION, "toolu_1", "Write", &forbidden);
    let allowed = reading(&room, "toolu_2");
    let cases = [
        (&forbidden, ">&-", 2),
        (&forbidden, ">/dev/null", 2),
        (&forbidden, ">/dev/full", 2),
        (&forbidden, ">&- 2>&-", 2),
        (&forbidden, "2>&-", 0),
        // There was nothing to print.
        (&allowed, ">/dev/null", 0),
    ];
    for (input, redirected, code) in cases {
        let mut shell = room.command("sh");
        shell.args(["-c", &format!("\"$0\" hook claude-code {redirected}")]);
        let mut child = shell
            .arg(INTERLOCK)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.to_string().as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{redirected}: {output:?}");
    }
}

#[test]
fn a_killed_hook_loses_nothing_that_was_acknowledged() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut dice = dice();
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = start(&room, KILLS * 2);
    // The first calls are not killed: they show how long one takes here.
    let mut acknowledged: Vec<String> = (0..WHOLE)
        .map(|number| format!("toolu_whole_{number}"))
        .collect();
    let whole = acknowledged
        .iter()
        .map(|id| duration_of_call(&interlock, &room, id))
        .min()
        .unwrap();
    for number in 0..KILLS {
        let id = format!("toolu_killed_{number}_");
        let mut child = interlock.hook(&reading(&room, &id)).unwrap();
        thread::sleep((whole * 3 / 2).mul_f64(dice.part()));
        // It may have ended by itself.
        drop(child.kill());
        match answer(&child.wait_with_output().unwrap()) {
            Answer::Allowed => acknowledged.push(id),
            Answer::Denied(reason) => {
                assert!(reason.is_empty(), "denied below the limit: {reason}")
            }
            Answer::None => {}
        }
    }
    assert_whole(&interlock, &run, &acknowledged);
    let after = interlock.hook(&reading(&room, "toolu_after")).unwrap();
    assert_eq!(answer(&after.wait_with_output().unwrap()), Answer::Allowed);
}

/// Returns the time that an undisturbed hook process takes to allow a call.
#[track_caller]
fn duration_of_call(interlock: &Interlock<'_>, room: &Room, id: &str) -> Duration {
    let began = Instant::now();
    let child = interlock.hook(&reading(room, id)).unwrap();
    assert_eq!(answer(&child.wait_with_output().unwrap()), Answer::Allowed);
    began.elapsed()
}

/// Checks that every acknowledged call is in the log, none is duplicated, and the run counts exactly those in the log.
#[track_caller]
fn assert_whole(interlock: &Interlock<'_>, run: &str, acknowledged: &[String]) {
    interlock.verify(run).unwrap();
    let events = interlock.events(run).unwrap();
    let sequence: Vec<Option<u64>> = events.iter().map(|event| event["seq"].as_u64()).collect();
    assert!(sequence.is_sorted_by(|a, b| a < b), "{sequence:?}");

    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    for event in &events {
        if let Some(id) = find_id(event) {
            *seen.entry((id, event["event"].to_string())).or_default() += 1;
        }
    }
    assert!(seen.values().all(|count| *count == 1), "{seen:#?}");
    for id in acknowledged {
        assert!(
            seen.keys().any(|(known, _)| known == id),
            "`{id}` was allowed and is not in the log"
        );
    }
    let mut ids: Vec<&String> = seen.keys().map(|(id, _)| id).collect();
    ids.dedup();
    let used = &interlock.status(run).unwrap()["limits"]["iterations"][0];
    assert_eq!(used.as_u64(), u64::try_from(ids.len()).ok());
    eprintln!(
        "{} of {} calls in the log, {} acknowledged",
        ids.len(),
        KILLS + WHOLE,
        acknowledged.len()
    );
}

/// Returns the id of the tool call that an event is about, wherever it is in the event.
fn find_id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.starts_with("toolu_") => Some(text.clone()),
        Value::Array(items) => items.iter().find_map(find_id),
        Value::Object(fields) => fields.values().find_map(find_id),
        _ => None,
    }
}

/// Returns a generator whose seed is printed and can be set by `INTERLOCK_TEST_SEED`; by default, it comes from the
/// clock.
fn dice() -> Dice {
    let given = std::env::var("INTERLOCK_TEST_SEED")
        .ok()
        .map(|seed| seed.parse().unwrap());
    let clock = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .subsec_nanos()
    };
    let seed = given.unwrap_or_else(|| u64::from(clock()));
    eprintln!("INTERLOCK_TEST_SEED={seed}");
    Dice::of_seed(seed)
}
