//! Lines of the real Claude Code, run by `interlock exec`: the confinement by the kernel and the environment.
//!
//! Every test runs with both versions that `cargo xtask setup` installs.

use std::fs;

use interlock_testkit::{
    claude::{Mode, Session, Version},
    interlock::Interlock,
    provider::{Call, Say, Script, call, text},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKFLOW: &str = "workflow.json";

/// A project after `interlock init`, whose next session is in a state with one policy.
struct Guarded {
    version: Version,
    room: Room,
    run: String,
}

impl Guarded {
    fn new(version: Version, policy: &Value, guard: &Value) -> Self {
        let room = Room::new().unwrap();
        room.install("claude", &version.program().unwrap()).unwrap();
        Interlock::new(INTERLOCK, &room).init().unwrap();
        let mut state = policy.clone();
        state["on"] = json!({ "DONE": guard });
        let workflow = json!({
            "id": "w", "initial": "work",
            "states": { "work": state, "end": { "type": "final" } },
        });
        room.write(WORKFLOW, &workflow.to_string()).unwrap();
        let run = Interlock::new(INTERLOCK, &room).start(WORKFLOW).unwrap();
        Self { version, room, run }
    }

    fn calls(&self, mode: Mode, calls: Vec<Say>) -> Vec<Call> {
        let count = calls.len();
        let answered = self.session(mode, Script::calls(calls));
        assert_eq!(answered.len(), count, "{answered:#?}");
        answered
    }

    fn session(&self, mode: Mode, script: Script) -> Vec<Call> {
        let outcome = Session::new(self.version, &self.room, script)
            .mode(mode)
            .env("PROD_DB_URL", "postgres://secret")
            .env("NODE_ENV", "production")
            .run()
            .unwrap();
        assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
        outcome.calls()
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let events = Interlock::new(INTERLOCK, &self.room)
            .events(&self.run)
            .unwrap();
        events
            .into_iter()
            .filter(|event| event["event"] == name)
            .collect()
    }
}

fn bash(command: &str) -> Say {
    call("Bash", json!({"command": command, "description": "a line"}))
}

#[track_caller]
fn ran(call: &Call, words: &[&str]) {
    assert!(!call.failed, "{call:#?}");
    for word in words {
        assert!(call.result.contains(word), "no `{word}` in {call:#?}");
    }
}

fn a_listed_program_that_writes_is_stopped_by_the_kernel(version: Version) {
    let policy = json!({
        "allowed_tools": ["Read", "Bash"], "allowed_commands": ["sh check.sh"],
    });
    let guarded = Guarded::new(version, &policy, &json!("end"));
    guarded
        .room
        .write(
            "check.sh",
            "echo x > leak.txt; rm -f kept.txt; ls; echo checked\n",
        )
        .unwrap();
    guarded.room.write("kept.txt", "kept\n").unwrap();
    let calls = guarded.calls(
        Mode::BypassPermissions,
        vec![
            bash("sh check.sh"),
            bash("touch leak.txt"),
            bash("cat kept.txt"),
        ],
    );
    let [check, touch, cat] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(check, &["checked", "kept.txt"]);
    assert!(
        touch.failed && touch.result.contains("command_not_allowed"),
        "{touch:#?}"
    );
    assert!(cat.failed, "only what is listed runs: {cat:#?}");
    let levels = guarded.events("LineConfined");
    assert_eq!(levels.len(), 1, "{levels:?}");
    // Files are protected at every level except the lowest.
    if levels[0]["level"] != "environment" {
        assert_eq!(guarded.room.read("leak.txt"), None);
        assert_eq!(guarded.room.read("kept.txt").as_deref(), Some("kept\n"));
    }
    assert_eq!(guarded.events("LineEnded")[0]["exit"], 0);
}

fn blocked_variables_are_absent_and_overrides_are_set(version: Version) {
    let policy = json!({
        "allowed_tools": ["Read", "Bash"], "allowed_commands": ["sh show.sh"],
        "blocked_env": ["PROD_DB_URL"], "env_overrides": { "NODE_ENV": "test" },
    });
    let guarded = Guarded::new(version, &policy, &json!("end"));
    guarded
        .room
        .write(
            "show.sh",
            "echo \"1 ${PROD_DB_URL:-none} $NODE_ENV\"\n\
             env | grep -c PROD_DB\nprintenv PROD_DB_URL\n\
             tr '\\0' '\\n' < /proc/self/environ | grep -c PROD_DB\n\
             python3 -c 'import os; print(2, os.environ.get(\"PROD_DB_URL\"), os.environ[\"NODE_ENV\"])'\n\
             node -e 'console.log(3, process.env.PROD_DB_URL, process.env.NODE_ENV)'\n\
             perl -e 'print \"4 \", $ENV{PROD_DB_URL} // \"none\", \" $ENV{NODE_ENV}\\n\"'\n\
             for p in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $p 2>/dev/null; done | grep -c PROD_DB_URL=postgres\n",
        )
        .unwrap();
    let calls = guarded.calls(
        Mode::BypassPermissions,
        vec![bash("sh show.sh; true"), bash("echo \"${PROD_DB_URL:-x}\"")],
    );
    let [show, echo] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(
        show,
        &[
            "1 none test",
            "2 None test",
            "3 undefined test",
            "4 none test",
        ],
    );
    assert!(!show.result.contains("secret"), "{show:#?}");
    let counts = show.result.lines().filter(|line| *line == "0").count();
    assert_eq!(counts, 3, "the variable was found somewhere: {show:#?}");
    assert!(echo.failed, "{echo:#?}");
}

fn evidence_is_what_exec_saw(version: Version) {
    let policy = json!({ "allowed_tools": ["Read", "Bash"], "allowed_commands": ["sh check.sh"] });
    let guard = json!({
        "target": "end", "guard": { "evidence": { "command": "sh check.sh", "exit": 0 } },
    });
    let guarded = Guarded::new(version, &policy, &guard);
    guarded
        .room
        .write(
            "check.sh",
            "cat count >&2; echo 'All tests passed'; test -e good\n",
        )
        .unwrap();
    let good = guarded.room.project().join("good");
    let check = |line: &str| vec![bash(line)];
    let script = Script::new(move |request| match request.rounds() {
        0 => check("sh check.sh"),
        2 => check("sh check.sh || true"),
        4 => vec![call(
            "Bash",
            json!({"command": "sh check.sh", "description": "a line", "run_in_background": true}),
        )],
        6 => {
            fs::write(&good, "").unwrap();
            check("sh check.sh")
        }
        1 | 3 | 5 | 7 => vec![call(
            "mcp__interlock__interlock_transition",
            json!({"event": "DONE"}),
        )],
        _ => vec![text("done")],
    });
    let calls = guarded.session(Mode::BypassPermissions, script);
    let asked: Vec<&Call> = calls.iter().skip(1).step_by(2).collect();
    let [failed, hidden, background, passed] = &asked[..] else {
        panic!("{calls:#?}")
    };
    for call in [failed, hidden, background] {
        assert!(call.result.contains("guard_failed"), "{call:#?}");
    }
    ran(passed, &["end"]);
}

/// In a session without a person, the client's own rules decide about lines that are not rewritten.
fn nothing_is_let_pass_that_the_client_would_have_asked_about(version: Version) {
    let policy = json!({ "allowed_tools": ["Read", "Edit", "Bash"] });
    let guarded = Guarded::new(version, &policy, &json!("end"));
    guarded.room.write("a.txt", "one\n").unwrap();
    let calls = guarded.calls(
        Mode::Default,
        vec![bash("sh -c 'touch made.txt'"), bash("sort a.txt | uniq -c")],
    );
    let [made, sorted] = &calls[..] else {
        panic!("{calls:#?}")
    };
    assert!(made.failed, "{made:#?}");
    assert_eq!(guarded.room.read("made.txt"), None);
    ran(sorted, &["1 one"]);
    assert_eq!(guarded.events("LineConfined").len(), 1);
}

interlock_testkit::with_both_versions! {
    a_listed_program_that_writes_is_stopped_by_the_kernel
    blocked_variables_are_absent_and_overrides_are_set
    evidence_is_what_exec_saw
    nothing_is_let_pass_that_the_client_would_have_asked_about
}
