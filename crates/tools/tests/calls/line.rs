//! Shell lines: cancelled, reported on while they run, and what follows them.

use std::sync::Mutex;

use interlock_process::Cancel;
use interlock_sandbox::Level;
use interlock_tools::{Arguments, Carrier, Code, Progress, Tool, ToolContext, ToolEnd};
use serde_json::{Value, json};

use crate::room::Room;

/// Runs a line, and passes its progress to `progress`.
fn told(room: &Room, input: &Value, progress: &(dyn Fn(Progress<'_>) + Sync)) -> ToolEnd {
    let arguments = Arguments::of(input.clone()).unwrap();
    let call = room.proposed(Tool::Bash, &arguments);
    let plan = room.plan(&arguments).unwrap();
    Tool::Bash.run(
        &arguments,
        &ToolContext {
            carrier: Some(Carrier {
                program: Room::program(),
                plan: &plan,
                level_max: Level::Full,
            }),
            progress: Some(progress),
            ..room.context(&call.facts)
        },
    )
}

#[test]
fn a_line_is_cancelled_from_another_thread() {
    let room = Room::new();
    // Its first output cancels it.
    let end = told(
        &room,
        &json!({"command": "echo on; exec sleep 7001"}),
        &|progress| {
            if let Progress::Printed(_) = progress {
                let cancel = room.cancel.clone();
                std::thread::spawn(move || cancel.cancel());
            }
        },
    );
    assert_eq!(end.code, Some(Code::Cancelled), "{end:?}");
    assert!(end.text.starts_with("on\n"), "{}", end.text);
}

#[test]
fn what_was_cancelled_before_does_not_begin() {
    let room = Room::new();
    room.cancel.cancel();
    room.make("p/a.txt", "x\n");
    for (tool, input) in [
        (Tool::Read, json!({"file_path": "a.txt"})),
        (Tool::Write, json!({"file_path": "b.txt", "content": "x"})),
        (Tool::Bash, json!({"command": "echo x > b.txt"})),
    ] {
        let (_, end) = room.call(tool, &input);
        assert_eq!(end.code, Some(Code::Cancelled), "{}", tool.name());
    }
    assert!(!room.path.join("p/b.txt").exists());
}

#[test]
fn how_far_a_line_is_held_is_told_while_it_runs() {
    let room = Room::new();
    let heard = Mutex::new(Vec::new());
    let end = told(&room, &json!({"command": "echo on"}), &|progress| {
        let word = match progress {
            Progress::Confined { level, .. } => format!("held {level}"),
            Progress::Printed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        heard.lock().unwrap().push(word);
    });
    let held = end.held.unwrap();
    let mut heard = heard.into_inner().unwrap();
    heard.sort();
    assert_eq!(heard, [format!("held {}", held.level), "on\n".to_owned()]);
    assert!(held.changed.is_empty());
}

/// It is killed five seconds after it was asked to end; the later steps are performed anyway.
#[test]
fn a_line_that_does_not_listen_is_killed_and_what_it_changed_is_put_back() {
    let room = Room::new();
    room.make("p/one", "");
    room.make("p/run.sh", "trap '' TERM; mkdir -p .claude; echo x > .claude/settings.json; echo on; (trap '' TERM; tail -f {room}/p/one) & while :; do tail -f {room}/p/one; done");
    let (_, end) = room.call(
        Tool::Bash,
        &json!({"command": "bash run.sh", "timeout_ms": 500}),
    );
    assert_eq!(end.code, Some(Code::Timeout), "{end:?}");
    assert!(
        end.text.contains("`.claude` is protected")
            || end.text.contains("is protected and was changed"),
        "{end:?}"
    );
    assert!(!room.path.join("p/.claude/settings.json").exists());
    let line = room.fill("pgrep -fx 'tail -f {room}/p/one' || echo none");
    let (_, end) = room.call(Tool::Bash, &json!({ "command": line }));
    assert_eq!(end.text, "none\n");
}

#[test]
fn a_plan_for_another_line_runs_nothing() {
    let room = Room::new();
    let judged = Arguments::of(json!({"command": "echo judged"})).unwrap();
    let other = Arguments::of(json!({"command": "echo x > made"})).unwrap();
    let plan = room.plan(&judged).unwrap();
    let facts = room.proposed(Tool::Bash, &other).facts;
    let end = Tool::Bash.run(
        &other,
        &ToolContext {
            carrier: Some(Carrier {
                program: Room::program(),
                plan: &plan,
                level_max: Level::Full,
            }),
            ..room.context(&facts)
        },
    );
    assert_eq!(end.code, Some(Code::NotStarted));
    let end = Tool::Bash.run(&other, &room.context(&facts));
    assert_eq!(end.code, Some(Code::NotStarted));
    assert!(!room.path.join("p/made").exists());
}

#[test]
fn a_program_that_tells_nothing_is_a_failure() {
    let room = Room::new();
    let arguments = Arguments::of(json!({"command": "true"})).unwrap();
    let facts = room.proposed(Tool::Bash, &arguments).facts;
    let plan = room.plan(&arguments).unwrap();
    for (program, code) in [
        ("/bin/true", Code::NotStarted),
        ("/bin/false", Code::NotStarted),
        ("/nowhere/interlock", Code::NotStarted),
    ] {
        let end = Tool::Bash.run(
            &arguments,
            &ToolContext {
                carrier: Some(Carrier {
                    program: std::path::Path::new(program),
                    plan: &plan,
                    level_max: Level::Full,
                }),
                ..room.context(&facts)
            },
        );
        assert_eq!(end.code, Some(code), "{program}: {end:?}");
        assert!(!end.ok);
    }
}

#[test]
fn variables_of_an_integration_reach_the_line_and_nothing_else() {
    let mut room = Room::new();
    room.environment = vec![("JIRA_TOKEN".to_owned(), "t-1".to_owned())];
    let (call, end) = room.call(
        Tool::ShellLine,
        &json!({"command": "echo \"[$JIRA_TOKEN]\""}),
    );
    assert_eq!(end.text, "[t-1]\n");
    assert!(!format!("{call:?}").contains("t-1"));
    assert!(!format!("{:?}", room.context(&call.facts)).contains("t-1"));
}

#[test]
fn blocked_variables_do_not_come_with_a_call() {
    let mut room = Room::new();
    room.policy.blocked_env = vec!["PROD_DB_URL".to_owned()];
    let (_, end) = room.call(
        Tool::ShellLine,
        &json!({"command": "env | grep -c PROD_DB || true", "env": {"PROD_DB_URL": "x", "BASH_ENV": "/x"}}),
    );
    assert_eq!(end.text, "0\n");
}

#[test]
fn pulled_is_seen_by_every_copy() {
    let cancel = Cancel::new().unwrap();
    let copy = cancel.clone();
    assert!(!copy.is_cancelled());
    cancel.cancel();
    cancel.cancel();
    assert!(copy.is_cancelled());
}
