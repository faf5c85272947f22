//! Orders carried out by the real bash and by scripted programs on PATH.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use interlock_core::machine::EffectKind;
use interlock_expr::text::Places;
use interlock_process::{Cancel, Stop, Stream, end_leftovers};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::carry_out;
use crate::{
    guard::{Guard, GuardWanted, Guarded},
    order::{Capture, Failed, Order, Outcome},
    output::KeptFiles,
    run_context::RunContext,
    screen::Screen,
};

mod agents;
mod groups;
mod outputs;

/// A run directory, a project, a home and programs of its own.
pub(super) struct Room {
    room: TempDir,
    pub(super) context: RunContext,
    pub(super) seen: Arc<Seen>,
}

/// What was shown, by stream.
#[derive(Default)]
pub(super) struct Seen(Mutex<Vec<(Stream, Vec<u8>)>>);

impl Screen for Seen {
    fn show(&self, _: &str, stream: Stream, bytes: &[u8]) {
        self.0.lock().unwrap().push((stream, bytes.to_vec()));
    }
    fn ask(&self, _: &str, _: &str) {}
    fn warn(&self, _: &str, _: &str) {}
}

impl Seen {
    pub(super) fn text(&self, wanted: Stream) -> String {
        let seen = self.0.lock().unwrap();
        let bytes: Vec<u8> = seen
            .iter()
            .filter(|(stream, _)| *stream == wanted)
            .flat_map(|(_, bytes)| bytes.clone())
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Room {
    pub(super) fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name).to_str().unwrap().to_owned();
        for place in ["run", "project", "home", "bin", "beside"] {
            fs::create_dir(at(place)).unwrap();
        }
        let places = Places {
            run_dir: at("run"),
            project: at("project"),
            home: at("home"),
        };
        let seen = Arc::new(Seen::default());
        let mut context = RunContext::new("r1", places, at("beside"));
        let path = std::env::var("PATH").unwrap();
        context.path = Some(format!("{}:{path}", at("bin")).into());
        context.screen = Arc::clone(&seen) as _;
        Self {
            room,
            context,
            seen,
        }
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// Writes a program of this name: a script for bash.
    pub(super) fn program(&self, name: &str, script: &str) {
        let path = self.at("bin").join(name);
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn carry(&self, order: &Order) -> Outcome {
        carry_out(
            order,
            &self.context,
            &Cancel::new().unwrap(),
            Box::new(|_| false),
        )
    }

    pub(super) fn bash(&self, command: &str) -> Outcome {
        self.carry(&bash(command))
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }
}

pub(super) fn order(kind: &str, input: Value) -> Order {
    Order {
        id: "r1//7".to_owned(),
        attempt: 1,
        kind: EffectKind::Program(kind.into()),
        path: "step".to_owned(),
        title: "step".to_owned(),
        input,
        capture: None,
        label: None,
        alone: true,
        read_whole: true,
        shown: true,
        stage: None,
        node: None,
    }
}

pub(super) fn bash(command: &str) -> Order {
    order("bash", json!({ "command": command }))
}

#[track_caller]
pub(super) fn done(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done { stdout, .. } => stdout,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(super) fn failed(outcome: Outcome) -> Failed {
    match outcome {
        Outcome::Failed(failed) => failed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_runs_in_the_run_directory_with_its_variables() {
    let room = Room::new();
    let mut order =
        bash("pwd; echo $INTERLOCK_RUN $INTERLOCK_STATE $INTERLOCK_PROJECT $INTERLOCK_RUN_DIR $A");
    order.input["env"] = json!({"A": "$(x) 'y'", "INTERLOCK_RUN": "forged"});
    let (run, project) = (room.at("run"), room.at("project"));
    let wanted = format!(
        "{0}\nr1 step {1} {0} $(x) 'y'\n",
        run.display(),
        project.display()
    );
    assert_eq!(done(room.carry(&order)), wanted);
}

#[test]
fn codes_and_signals_are_told_as_a_shell_tells_them() {
    let room = Room::new();
    for (command, code) in [
        ("exit 3", 3),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("no-such-program-anywhere", 127),
        ("-x", 127),
    ] {
        assert_eq!(failed(room.bash(command)).code, code, "{command}");
    }
    assert_eq!(done(room.bash("false; true")), "");
    assert_eq!(done(room.bash("false | true")), "");
}

#[test]
fn a_shell_or_a_folder_that_lacks_is_said() {
    let mut room = Room::new();
    let mut order = bash("true");
    order.input["cwd"] = json!(room.at("nowhere").to_str().unwrap());
    let said = failed(room.carry(&order));
    assert_eq!(said.code, 1);
    assert!(said.message.contains("nowhere"), "{}", said.message);
    room.context.shells = vec![room.at("bin/no-bash")];
    assert_eq!(failed(room.bash("true")).code, 2);
}

#[test]
fn a_failed_command_is_told_where_its_file_is() {
    let room = Room::new();
    fs::write(room.at("project/VERSION"), "1.10\n").unwrap();
    let said = failed(room.bash("cat VERSION"));
    assert_eq!(said.code, 1);
    assert!(
        said.message.contains("write `cwd: \"@/\"`"),
        "{}",
        said.message
    );
    assert!(said.stderr.contains("VERSION"), "{}", said.stderr);
    let mut order = bash("cat VERSION");
    order.input["cwd"] = json!(room.at("project").to_str().unwrap());
    assert_eq!(done(room.carry(&order)), "1.10\n");
}

#[test]
fn a_command_too_long_for_an_argument_runs_from_a_file() {
    let room = Room::new();
    for length in [131_071, 131_072, 300_000] {
        let start = "echo $((1 + 1)) # ";
        let command = format!("{start}{}", "x".repeat(length - start.len()));
        assert_eq!(done(room.bash(&command)), "2\n", "{length}");
    }
    assert_eq!(fs::read_dir(room.at("run")).unwrap().count(), 0);
}

#[test]
fn a_variable_too_long_for_the_environment_is_named() {
    let room = Room::new();
    let mut order = bash("echo ${#LONG}");
    let longest = 131_072 - "LONG=".len() - 1;
    order.input["env"] = json!({ "LONG": "x".repeat(longest) });
    assert_eq!(done(room.carry(&order)), format!("{longest}\n"));
    order.input["env"] = json!({ "LONG": "x".repeat(longest + 1) });
    let said = failed(room.carry(&order));
    assert_eq!(said.code, 1);
    assert!(said.message.contains("`LONG`"), "{}", said.message);
    let many: serde_json::Map<String, Value> = (0..40)
        .map(|number| (format!("V{number}"), json!("x".repeat(120_000 + number))))
        .collect();
    order.input["env"] = Value::Object(many);
    let said = failed(room.carry(&order));
    assert!(said.message.contains("`V39`"), "{}", said.message);
    order.input["env"] = json!({"N": "a\u{0}b"});
    assert!(failed(room.carry(&order)).message.contains("`N`"));
}

#[test]
fn an_unknown_tool_is_code_2() {
    assert_eq!(
        failed(Room::new().carry(&order("unheard-of", json!({})))).code,
        2
    );
}

#[test]
fn a_text_goes_to_its_file() {
    let room = Room::new();
    let mut order = order("", json!({"text": "true"}));
    order.kind = EffectKind::Write;
    let target = room.at("run/a/out.txt");
    order.capture = Some(Capture::File(target.clone()));
    assert_eq!(done(room.carry(&order)), "true");
    assert_eq!(room.read("run/a/out.txt"), "true");
    order.capture = Some(Capture::File(room.at("run/a")));
    assert_eq!(failed(room.carry(&order)).code, 1);
}
