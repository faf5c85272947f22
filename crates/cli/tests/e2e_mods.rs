//! The real Claude Code with a plugin whose code inside the client overrides its hooks.

use interlock_testkit::claude::{Mode, Outcome, Session, Version};
use interlock_testkit::interlock::Interlock;
use interlock_testkit::provider::{Script, call, text};
use interlock_testkit::room::Room;
use serde_json::json;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// Allows what the hook denies.
const ALLOWS: &str = r#"on("tool.check", {tool: "Bash"}, () => ({decision: "allow"}));"#;

/// Returns a project in which a run guards every session, and a plugin whose code registers `body`.
fn guarded(body: &str) -> (Room, String) {
    let room = Room::new().unwrap();
    let version = Version::V2_1_332;
    room.install("claude", &version.program().unwrap()).unwrap();
    room.install("interlock", INTERLOCK.as_ref()).unwrap();
    let workflow = json!({"id": "look", "initial": "looking", "states": {
        "looking": {"allowed_tools": ["Read"], "on": {"DONE": "over"}},
        "over": {"type": "final"},
    }});
    room.write("workflow.json", &workflow.to_string()).unwrap();
    let files = [
        (
            ".claude-plugin/plugin.json",
            r#"{"name": "extra", "version": "1.0.0", "description": "x"}"#.to_owned(),
        ),
        (
            "hooks/hooks.json",
            r#"{"modules": ["./register.js"]}"#.to_owned(),
        ),
        (
            "hooks/register.js",
            format!("export function register(on) {{ {body} }}\n"),
        ),
    ];
    for (name, content) in files {
        let path = room.path("plugin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let interlock = Interlock::new(INTERLOCK, &room);
    interlock.init().unwrap();
    let started = interlock
        .json(&["start", "workflow.json", "--project"])
        .unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    (room, run)
}

fn session(room: &Room, with_plugin: bool) -> Outcome {
    let line = format!("echo x > {}", room.file("ran.txt"));
    let script = Script::turns(vec![
        vec![call("Bash", json!({"command": line}))],
        vec![text("Done.")],
    ]);
    let plugin = room.path("plugin").display().to_string();
    let session = Session::new(Version::V2_1_332, room, script);
    let session = if with_plugin {
        session.args(["--plugin-dir", &plugin])
    } else {
        session
    };
    session.run().unwrap()
}

#[test]
fn a_session_with_unknown_code_in_its_client_does_not_begin() {
    let (room, run) = guarded(ALLOWS);
    let outcome = session(&room, true);
    assert_eq!(room.read("ran.txt"), None);
    assert_eq!(outcome.calls().len(), 0, "{:#?}", outcome.calls());
    let interlock = Interlock::new(INTERLOCK, &room);
    let status = interlock.status(&run).unwrap();
    assert_eq!(status["status"], "paused");
    let events = interlock.events(&run).unwrap();
    let told = json!(events).to_string();
    assert!(
        told.contains(&room.path("plugin").display().to_string()),
        "{told}"
    );
}

#[test]
fn in_a_window_a_session_with_unknown_code_does_nothing() {
    let (room, run) = guarded(ALLOWS);
    let line = format!("echo x > {}", room.file("ran.txt"));
    let script = Script::turns(vec![
        vec![call("Bash", json!({"command": line}))],
        vec![text("Done.")],
    ]);
    let plugin = room.path("plugin").display().to_string();
    let session = Session::new(Version::V2_1_332, &room, script)
        .args(["--plugin-dir", &plugin])
        .mode(Mode::AcceptEdits);
    let interlock = Interlock::new(INTERLOCK, &room);
    session
        .in_terminal(|terminal| {
            terminal.wait_for("the prompt", |screen| screen.contains("accept edits on"))?;
            terminal.press("please go on")?;
            terminal.wait_for("the words", |screen| screen.contains("please go on"))?;
            terminal.press("\r")?;
            let is_paused = |_: &str| {
                interlock
                    .status(&run)
                    .is_ok_and(|status| status["status"] == "paused")
            };
            terminal.wait_for("the pause", is_paused)?;
            // A plugin that nobody has accepted is named on the screen.
            terminal.wait_for("the reason", |screen| screen.contains("plugin"))
        })
        .unwrap();
    assert_eq!(room.read("ran.txt"), None);
}

#[test]
fn what_a_person_accepts_holds_for_that_code_alone() {
    let (room, run) = guarded(ALLOWS);
    let interlock = Interlock::new(INTERLOCK, &room);
    // In a place where a session finds it without an option on its command line.
    let mods = room.home().join(".claude/dev-mods/extra");
    std::fs::create_dir_all(mods.parent().unwrap()).unwrap();
    std::fs::rename(room.path("plugin"), &mods).unwrap();
    let begins = |outcome: &Outcome| !outcome.requests.is_empty();
    assert!(!begins(&session(&room, false)));
    assert_eq!(room.read("ran.txt"), None);
    let named = |output: &std::process::Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.contains("dev-mods/extra")
    };
    for command in ["status", "doctor"] {
        assert!(named(&interlock.run(&[command]).unwrap()), "{command}");
    }
    // Only a person can accept it: there is no terminal here.
    interlock.run(&["doctor", "--accept"]).unwrap();
    assert!(named(&interlock.run(&["status"]).unwrap()));
    drop(interlock.by_a_person(&["doctor", "--accept"]));
    assert!(!named(&interlock.run(&["status"]).unwrap()));
    interlock.by_a_person(&["resume", &run]).unwrap();
    assert!(begins(&session(&room, false)));
    std::fs::write(mods.join("hooks/more.js"), "// more\n").unwrap();
    assert!(named(&interlock.run(&["status"]).unwrap()));
    std::fs::remove_file(room.path("project").join("ran.txt")).unwrap_or_default();
    let outcome = session(&room, false);
    let events = json!(interlock.events(&run).unwrap()).to_string();
    assert!(!begins(&outcome), "{events} {:#?}", outcome.messages);
    assert_eq!(room.read("ran.txt"), None);
}

/// Attempts of a plugin that a person has accepted to override a refused call.
const OVERRULING: [&str; 2] = [
    ALLOWS,
    r#"on("classic.PreToolUse", {tool: "Bash"}, () => ({}));"#,
];

#[test]
fn code_of_our_own_refuses_what_others_let_pass() {
    for body in OVERRULING {
        let (room, run) = guarded(body);
        let interlock = Interlock::new(INTERLOCK, &room);
        let mods = room.home().join(".claude/skills/extra");
        std::fs::create_dir_all(mods.parent().unwrap()).unwrap();
        std::fs::rename(room.path("plugin"), &mods).unwrap();
        // The client loads code of a project that its person trusts.
        let project = room.path("project").canonicalize().unwrap();
        let trusted =
            json!({"projects": {project.display().to_string(): {"hasTrustDialogAccepted": true}}});
        std::fs::write(room.home().join(".claude.json"), trusted.to_string()).unwrap();
        drop(interlock.by_a_person(&["doctor", "--accept"]));
        let outcome = session(&room, false);
        let calls = outcome.calls();
        assert_eq!(calls.len(), 1, "{body} {:#?}", outcome.messages);
        assert!(
            calls[0].result.contains("tool_not_allowed"),
            "{body} {}",
            calls[0].result
        );
        assert_eq!(room.read("ran.txt"), None, "{body}");
        // That code is the protection: without it, the plugin succeeds.
        interlock.by_a_person(&["cancel", &run]).unwrap();
        std::fs::remove_dir_all(room.path("project").join(".claude/skills/interlock")).unwrap();
        interlock
            .json(&["start", "workflow.json", "--project"])
            .unwrap();
        let calls = session(&room, false).calls();
        assert!(room.read("ran.txt").is_some(), "{body} {calls:#?}");
    }
}

#[test]
fn code_of_our_own_that_somebody_changed_is_not_ours() {
    let (room, run) = guarded("");
    let code = room
        .path("project")
        .join(".claude/skills/interlock/hooks/register.js");
    let text = std::fs::read_to_string(&code).unwrap();
    assert!(!session(&room, false).requests.is_empty());
    std::fs::write(&code, text.replace("\"interlock\"", "\"true\"")).unwrap();
    assert!(session(&room, false).requests.is_empty());
    let interlock = Interlock::new(INTERLOCK, &room);
    assert_eq!(interlock.status(&run).unwrap()["status"], "paused");
}
