//! A run that was begun in one client continues in another, after everything has ended.

use crate::e2e_clients::guarded::{self, Guarded};
use interlock_testkit::claude::Version;
use interlock_testkit::client::{Client, Tools};
use interlock_testkit::proposal::{Proposal, Script};
use serde_json::{Value, json};

fn workflow() -> Value {
    json!({
        "id": "two-clients", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read", "Bash"], "on": {"READY": "building"}},
            "building": {
                "allowed_tools": ["Read", "Write", "Bash"],
                "on": {"DONE": {"target": "complete", "guard": "checked"}},
            },
            "complete": {"type": "final"},
        },
        "guards": {"checked": {"evidence": {"command": "sh check.sh", "exit": 0}}},
    })
}

fn transition(event: &str) -> Proposal {
    let arguments = json!({"event": event});
    Proposal::tool("interlock", "interlock_transition", arguments)
}

#[test]
fn a_run_begun_in_claude_code_ends_in_codex() {
    let (claude, codex) = (
        Client::ClaudeCode(Version::V2_1_332),
        Client::Codex(Tools::Code),
    );
    let guarded = Guarded::new(claude, &[("check.sh", "test -e made.txt\n")]);
    guarded.add(codex);
    // Codex writes into its own folder on first use, which would count as a change of settings.
    guarded.session_of(codex, Script::calls(Vec::new()));
    let run = guarded.start(&workflow());
    guarded.session(Script::calls(vec![
        Proposal::shell("touch early.txt"),
        transition("READY"),
    ]));
    assert_eq!(
        guarded.interlock().status(&run).unwrap()["state"],
        "building"
    );

    // Claude Code has ended; a person passes the run to the next session.
    let resume = ["resume", &run, "--next"];
    guarded.interlock().by_a_person(&resume).unwrap();
    let outcome = guarded.session_of(
        codex,
        Script::calls(vec![
            transition("DONE"),
            Proposal::write("made.txt", "x\n"),
            Proposal::shell("sh check.sh"),
            transition("DONE"),
        ]),
    );
    let verdicts = guarded.verdicts(&run);
    assert_eq!(
        verdicts,
        [
            "shell_write",
            "to building",
            "guard_failed",
            "allowed",
            "allowed",
            "to complete"
        ],
        "{outcome:#?}"
    );
    assert_eq!(
        guarded.interlock().status(&run).unwrap()["status"],
        "completed"
    );
    guarded.interlock().verify(&run).unwrap();
    let [early, made] = ["early.txt", "made.txt"].map(|path| guarded.room.read(path));
    assert_eq!((early, made.as_deref()), (None, Some("x\n")));
}

/// The session that had the run stays guarded after the run was passed on.
#[test]
fn the_session_that_had_the_run_stays_guarded_by_it() {
    let codex = Client::Codex(Tools::Code);
    let guarded = Guarded::new(codex, &[]);
    let run = guarded.start(&workflow());
    let (room, program) = (guarded.room.project(), guarded::INTERLOCK);
    let environment = guarded.room.environment();
    let handed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (once, id) = (std::sync::Arc::clone(&handed), run.clone());
    let script = Script::new(move |turn| match turn {
        0 => Some(Proposal::shell("ls")),
        1 => {
            if !once.swap(true, std::sync::atomic::Ordering::SeqCst) {
                let mut resume = std::process::Command::new(program);
                resume.args(["resume", &id, "--next"]);
                resume.current_dir(&room).env_clear();
                resume.envs(environment.iter().cloned());
                interlock_testkit::terminal::output(&mut resume).unwrap();
            }
            Some(Proposal::shell("touch free.txt"))
        }
        _ => None,
    });
    let outcome = guarded.session(script);
    let [_, touched] = &outcome.results[..] else {
        panic!("{outcome:#?}")
    };
    assert!(touched.contains("shell_write"), "{touched}");
    assert_eq!(guarded.room.read("free.txt"), None);
}
