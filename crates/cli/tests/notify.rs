//! Notifications to a person that a question waits for them, which nothing waits for.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// Time limit for any wait, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
const FLOW: &str = "id: flow
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on_denied: ask
    on: {SHIP: {target: shipped, requires_approval: true, approval_message: Ship it?}}
  shipped: {type: final}
";
const DESKTOP: [(&str, &str); 2] = [
    ("DISPLAY", ":0"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none"),
];

/// A notifier that waits for a word, then writes the arguments it was started with.
struct Bell {
    go: PathBuf,
    told: PathBuf,
}

impl Bell {
    fn new(room: &Room, name: &str) -> Self {
        let bell = Self {
            go: room.path(&format!("{name}.go")),
            told: room.path(&format!("{name}.told")),
        };
        for pipe in [&bell.go, &bell.told] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        let text = format!(
            "#!/bin/sh\nread word < '{}'\n{{ printf '%s\\n' \"$@\"; env | grep INTERLOCK_NOTIFY; }} > '{}'\n",
            bell.go.display(),
            bell.told.display()
        );
        program(&room.path("bin").join(name), &text);
        bell
    }

    /// Lets the notifier go on and returns what it writes.
    fn told(&self) -> String {
        let (go, told) = (self.go.clone(), self.told.clone());
        let (done, known) = channel();
        thread::spawn(move || {
            fs::OpenOptions::new()
                .write(true)
                .open(go)
                .unwrap()
                .write_all(b"go\n")
                .unwrap();
            let mut text = String::new();
            fs::File::open(told)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            done.send(text).unwrap();
        });
        known.recv_timeout(PATIENCE).unwrap()
    }
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    Interlock::new(INTERLOCK, &room)
        .start_for_session("flow.yaml", "s1")
        .unwrap();
    room
}

fn configure(room: &Room, text: &str) {
    let directory = room.config().join("interlock");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), text).unwrap();
}

fn hook(room: &Room, id: &str, tool: &str, input: &Value) -> Value {
    let mut told = before_tool(room, "s1", id, tool, input);
    told["permission_mode"] = json!("default");
    let output = Interlock::new(INTERLOCK, room)
        .hook_of("claude-code", None, &told, &DESKTOP)
        .unwrap()
        // Reads until the output is closed: the notifier has no handle of it.
        .wait_with_output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_desktop_is_told_and_the_hook_does_not_wait_for_it() {
    let room = room();
    let bell = Bell::new(&room, "notify-send");
    let url = "https://example.com/?a=$(touch x)`id`<b>";
    let said = hook(&room, "t1", "WebFetch", &json!({ "url": url }));
    // The hook has answered while the notifier still waits for its word.
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "ask");
    let told = bell.told();
    assert!(
        told.contains("--app-name=Interlock\n--\nInterlock: `flow` waits for you\nWebFetch "),
        "{told}"
    );
    assert!(told.contains("$(touch x)`id`&lt;b&gt;"), "{told}");
    // A call without a question starts no notifier: a second one would wait forever.
    hook(
        &room,
        "t2",
        "Read",
        &json!({"file_path": room.file("flow.yaml")}),
    );
}

#[test]
fn a_command_of_the_persons_own_is_told_by_variables() {
    let room = room();
    let bell = Bell::new(&room, "bell");
    configure(
        &room,
        "[notify]\ndesktop = false\ncommand = [\"bell\", \"--loud\", \"$HOME\"]\n",
    );
    let event = json!({"event": "SHIP", "data": {"v": 1}});
    hook(&room, "t1", "mcp__interlock__interlock_transition", &event);
    let told = bell.told();
    assert!(told.starts_with("--loud\n$HOME\n"), "{told}");
    for wanted in [
        "INTERLOCK_NOTIFY_BODY=SHIP: draft -> shipped",
        "INTERLOCK_NOTIFY_WORKFLOW=flow",
        "INTERLOCK_NOTIFY_APPROVAL=a",
        "INTERLOCK_NOTIFY_RUN=01",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}

#[test]
fn a_notifier_that_fails_changes_no_verdict() {
    let room = room();
    program(&room.path("bin").join("notify-send"), "#!/nowhere\n");
    configure(&room, "[notify]\ncommand = [\"no-such-program\"]\n");
    let said = hook(
        &room,
        "t1",
        "WebFetch",
        &json!({"url": "https://example.com"}),
    );
    assert_eq!(
        said["hookSpecificOutput"]["permissionDecision"], "ask",
        "{said}"
    );
    // `doctor` reports it.
    let mut doctor = room.command(INTERLOCK);
    let output = doctor
        .args(["doctor", "--json"])
        .envs(DESKTOP)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let seen: Vec<String> = checks
        .filter(|check| check["what"] == "notifications")
        .map(|check| {
            format!(
                "{} {}",
                check["health"].as_str().unwrap(),
                check["seen"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(seen.len(), 2, "{report}");
    assert!(
        seen[0].starts_with("warn `notify-send`: it cannot be started"),
        "{seen:?}"
    );
    assert_eq!(
        seen[1],
        "warn `no-such-program` was not found outside the project"
    );
}

#[test]
fn doctor_tries_a_notifier() {
    let room = room();
    program(&room.path("bin").join("notify-send"), "#!/bin/sh\nexit 0\n");
    let mut doctor = room.command(INTERLOCK);
    let output = doctor.arg("doctor").envs(DESKTOP).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("`notify-send` has shown one"), "{text}");
}

#[test]
fn doctor_says_that_a_notifier_fails() {
    let room = room();
    program(&room.path("bin").join("notify-send"), "#!/bin/sh\nexit 3\n");
    let mut doctor = room.command(INTERLOCK);
    let output = doctor.arg("doctor").envs(DESKTOP).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("notify-send"), "{text}");
    assert!(!text.contains("`notify-send` has shown one"), "{text}");
}

#[test]
fn a_project_sets_no_notifier() {
    let room = room();
    room.write(
        ".interlock/config.toml",
        "[notify]\ncommand = [\"./evil\"]\n",
    )
    .unwrap();
    let output = room.command(INTERLOCK).arg("doctor").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("`notify.command`, which only a person's own configuration may set"),
        "{errors}"
    );
    assert!(errors.contains("config/interlock/config.toml"), "{errors}");
}
