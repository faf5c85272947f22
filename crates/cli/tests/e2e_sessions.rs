//! The real Claude Code, whose conversation continues under other ids and in other processes.
//!
//! In each, the forbidden edit is refused, or the session was told that it is not guarded.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use interlock_testkit::claude::{Mode, Outcome, Session, Version};
use interlock_testkit::interlock::Interlock;
use interlock_testkit::provider::{ModelRequest, Script, call, text};
use interlock_testkit::room::Room;
use interlock_testkit::terminal::Terminal;
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const FIRST: &str = "11111111-1111-4111-8111-111111111111";

fn workflow() -> Value {
    json!({"id": "look", "initial": "looking", "states": {
        "looking": {"allowed_tools": ["Read"], "on": {"DONE": "over"}},
        "over": {"type": "final"},
    }})
}

/// Returns a project after `interlock init`.
fn initialised(version: Version) -> Room {
    let room = Room::new().unwrap();
    room.install("claude", &version.program().unwrap()).unwrap();
    room.write("workflow.json", &workflow().to_string())
        .unwrap();
    Interlock::new(INTERLOCK, &room).init().unwrap();
    room
}

/// Returns the same with a workflow that requires the work to be finished.
fn wanting_an_end(version: Version) -> Room {
    let room = initialised(version);
    let mut workflow = workflow();
    workflow["finish"] = "required".into();
    room.write("workflow.json", &workflow.to_string()).unwrap();
    room
}

/// Returns a model that answers each prompt with an attempt to write, and its result with a word.
fn writes(room: &Room) -> Script {
    let path = room.file("written.txt");
    let told = Arc::new(AtomicUsize::new(0));
    Script::new(move |request: &ModelRequest| {
        if request.tools().is_empty() {
            return vec![text("A summary.")];
        }
        let answered = !request.results().is_empty();
        if !answered {
            return vec![call("Write", json!({"file_path": path, "content": "x"}))];
        }
        let count = told.fetch_add(1, Ordering::SeqCst) + 1;
        vec![text(format!("Attempt {count} is over."))]
    })
}

fn session(version: Version, room: &Room, arguments: &[&str]) -> Outcome {
    let session = Session::new(version, room, writes(room));
    let session = arguments
        .iter()
        .fold(session, |session, word| session.args([word]));
    let outcome = session.run().unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    outcome
}

fn is_refused(room: &Room, outcome: &Outcome) -> bool {
    outcome.text().contains("tool_not_allowed") && room.read("written.txt").is_none()
}

fn a_conversation_taken_up_again_stays_held(version: Version) {
    let room = initialised(version);
    Interlock::new(INTERLOCK, &room)
        .start("workflow.json")
        .unwrap();
    let ways: [&[&str]; 5] = [
        &["--session-id", FIRST],
        &["--resume", FIRST],
        &["--continue"],
        &["--resume", FIRST, "--fork-session"],
        &["--continue", "--fork-session"],
    ];
    for way in ways {
        let outcome = session(version, &room, way);
        assert!(is_refused(&room, &outcome), "{way:?}: {}", outcome.text());
    }
}

fn a_second_session_is_told_that_no_run_guards_it(version: Version) {
    let room = initialised(version);
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = interlock.start("workflow.json").unwrap();
    session(version, &room, &[]);
    assert!(room.read("written.txt").is_none());
    let outcome = session(version, &room, &[]);
    let said = outcome.requests[0].text();
    let wanted = format!("run {run} is open in this project");
    assert!(
        outcome
            .requests
            .iter()
            .any(|request| request.text().contains(&wanted)),
        "{said}"
    );
    assert!(room.read("written.txt").is_some());
}

fn a_run_may_hold_every_session_of_the_project(version: Version) {
    let room = initialised(version);
    let interlock = Interlock::new(INTERLOCK, &room);
    let started = interlock
        .json(&["start", "workflow.json", "--project"])
        .unwrap();
    for _ in 0..2 {
        let outcome = session(version, &room, &[]);
        assert!(is_refused(&room, &outcome), "{}", outcome.text());
    }
    let run = started["run"].as_str().unwrap();
    interlock.by_a_person(&["cancel", run]).unwrap();
    session(version, &room, &[]);
    assert!(room.read("written.txt").is_some());
}

fn an_agent_that_stops_early_goes_on(version: Version) {
    let room = wanting_an_end(version);
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = interlock.start("workflow.json").unwrap();
    let script = Script::new(|_: &ModelRequest| vec![text("That is all.")]);
    let outcome = Session::new(version, &room, script).run().unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    assert!(outcome.text().contains("finish_required"));
    let events = interlock.events(&run).unwrap();
    let refused = events
        .iter()
        .filter(|event| event["event"] == "FinishRefused");
    assert_eq!(refused.count(), 3, "{events:#?}");
}

fn the_last_task_of_a_list_is_not_done_before_the_work_is(version: Version) {
    let room = wanting_an_end(version);
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = interlock.start("workflow.json").unwrap();
    let create = |subject: &str| {
        let task = json!({"subject": subject, "description": subject, "activeForm": subject});
        vec![call("TaskCreate", task)]
    };
    let done = |task: &str| {
        vec![call(
            "TaskUpdate",
            json!({"taskId": task, "status": "completed"}),
        )]
    };
    let script = Script::turns(vec![
        create("Look"),
        create("Write"),
        done("1"),
        done("2"),
        vec![text("That is all.")],
        vec![text("Still all.")],
        vec![text("Really.")],
    ]);
    // The newer client offers these tools only on request.
    let outcome = Session::new(version, &room, script)
        .env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
        .run()
        .unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let results: Vec<String> = outcome
        .requests
        .iter()
        .flat_map(ModelRequest::results)
        .collect();
    assert!(!results[2].contains("finish_required"), "{results:#?}");
    assert!(results[3].contains("finish_required"), "{results:#?}");
    // The refusals of the task and of the end are counted together.
    let events = interlock.events(&run).unwrap();
    let refused = events
        .iter()
        .filter(|event| event["event"] == "FinishRefused");
    assert_eq!(refused.count(), 3, "{events:#?}");
}

interlock_testkit::with_both_versions! {
    a_conversation_taken_up_again_stays_held
    a_second_session_is_told_that_no_run_guards_it
    a_run_may_hold_every_session_of_the_project
    an_agent_that_stops_early_goes_on
    the_last_task_of_a_list_is_not_done_before_the_work_is
}

/// Types a line as a person does: first the words, and Enter once they are shown.
fn say(terminal: &mut Terminal, line: &str) -> std::io::Result<()> {
    terminal.press(line)?;
    terminal.wait_for(line, |screen| screen.contains(line))?;
    terminal.press("\r")
}

#[test]
fn a_conversation_that_begins_anew_stays_held() {
    let room = initialised(Version::V2_1_332);
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = interlock.start("workflow.json").unwrap();
    let client = Session::new(Version::V2_1_332, &room, writes(&room)).mode(Mode::AcceptEdits);
    let living = client
        .in_terminal(|terminal| {
            terminal.wait_for("the prompt", |screen| screen.contains("accept edits on"))?;
            say(terminal, "first")?;
            terminal.wait_for("an answer", |screen| screen.contains("Attempt 1 is over"))?;
            say(terminal, "/clear")?;
            terminal.wait_for("an empty screen", |screen| !screen.contains("Attempt 1"))?;
            say(terminal, "second")?;
            terminal.wait_for("an answer", |screen| screen.contains("Attempt 2 is over"))?;
            say(terminal, "/branch")?;
            terminal.wait_for("a branch", |screen| screen.contains("Branched session"))?;
            say(terminal, "third")?;
            terminal.wait_for("an answer", |screen| screen.contains("Attempt 3 is over"))?;
            say(terminal, "/compact")?;
            terminal.wait_for("a summary", |screen| screen.contains("Compacted"))?;
            say(terminal, "fourth")?;
            // The client asks the model for the summary, too, so attempts are not counted here.
            let after = |screen: &str| {
                screen
                    .rsplit("fourth")
                    .next()
                    .is_some_and(|it| it.contains("is over"))
            };
            terminal.wait_for("an answer", |screen| {
                screen.contains("fourth") && after(screen)
            })?;
            interlock.status(&run)
        })
        .unwrap();
    assert_eq!(room.read("written.txt"), None);
    let denied = interlock.events(&run).unwrap();
    let denied = denied.iter().filter(|event| event["event"] == "CallDenied");
    assert!(denied.count() >= 4);
    let sessions = living["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{sessions:#?}");
    assert_eq!(sessions[0]["run"], json!(run));
}
