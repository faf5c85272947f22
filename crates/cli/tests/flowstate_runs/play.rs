//! Plays a case in a separate room, and returns the differences.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use interlock_testkit::{room::Room, terminal};
use serde_json::{Map, Value};

use crate::flowstate_runs::case::{Case, Exit, Step};

/// Runs a program whose output nobody reads.
const GONE: &str = r#""$0" "$@" | true; exit "${PIPESTATUS[0]}""#;
const CLOSED: &str = r#""$0" "$@" >&-"#;
const FULL: &str = r#""$0" "$@" >/dev/full"#;
const SIGKILL: i32 = 9;

/// Plays a case and returns every difference.
pub(crate) fn play(interlock: &str, case: &Case) -> Vec<String> {
    let room = Room::new().unwrap();
    if let Some(flow) = &case.flow {
        room.write("flow.yaml", flow).unwrap();
    }
    for (path, text) in &case.files {
        write(&room, path, Some(text));
    }
    for (path, size) in &case.make {
        let file = fs::File::create(room.project().join(path)).unwrap();
        file.set_len(*size).unwrap();
    }
    for (name, body) in &case.programs {
        room.script(&format!("bin/{name}"), body).unwrap();
    }
    let mut wrong = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        for (path, text) in &step.files {
            write(&room, path, text.as_deref());
        }
        let output = give(interlock, &room, case, step);
        let found = differences(step, &output);
        if !found.is_empty() {
            let what = format!("step {}: {}", at + 1, found.join("; "));
            wrong.push(format!("{what}\n{}", shown(&output)));
        }
    }
    wrong.extend(unlike(&room, &case.after));
    wrong
}

/// Writes a file below the project or, after `~/`, the home; or removes it.
fn write(room: &Room, path: &str, text: Option<&str>) {
    let path = match path.strip_prefix("~/") {
        Some(path) => room.home().join(path),
        None => room.project().join(path),
    };
    match text {
        None => fs::remove_file(path).unwrap(),
        Some(text) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
}

fn give(interlock: &str, room: &Room, case: &Case, step: &Step) -> Output {
    let wrapped = match step.stdout.as_deref() {
        None => None,
        Some("gone") => Some(GONE),
        Some("closed") => Some(CLOSED),
        Some("full") => Some(FULL),
        Some(other) => panic!("no standard output is `{other}`"),
    };
    let mut command = match wrapped {
        None => room.command(interlock),
        Some(script) => {
            let mut command = room.command("/bin/bash");
            command.args(["-c", script, interlock]);
            command
        }
    };
    command.args(&step.args);
    command.current_dir(room.project().join(&step.folder));
    if case.path.as_deref() == Some("only") {
        command.env("PATH", room.path("bin"));
    }
    run(&mut command, step).unwrap()
}

fn run(command: &mut Command, step: &Step) -> std::io::Result<Output> {
    match &step.typed {
        Some(typed) => terminal::answered(command, typed),
        None if step.person => terminal::output(command),
        None => command.stdin(Stdio::null()).output(),
    }
}

fn differences(step: &Step, output: &Output) -> Vec<String> {
    let mut wrong = Vec::new();
    let ended = match output.status.signal() {
        Some(SIGKILL) => Exit::Signal("killed".to_owned()),
        Some(signal) => Exit::Signal(format!("signal {signal}")),
        None => Exit::Code(output.status.code().unwrap_or(-1)),
    };
    if ended != step.exit {
        wrong.push(format!("ended with {ended:?}, not {:?}", step.exit));
    }
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let all = format!("{out}{err}");
    if let Some(expected) = &step.out
        && *expected != out
    {
        wrong.push(format!("printed {out:?}, not {expected:?}"));
    }
    if let Some(expected) = &step.out_bytes {
        let hex: String = output
            .stdout
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if hex != *expected {
            wrong.push(format!("printed the bytes {hex}"));
        }
    }
    for (name, text, wanted) in [
        ("stdout", &*out, &step.out_has),
        ("stderr", &*err, &step.err_has),
        ("both", &all, &step.all_has),
    ] {
        let missing = wanted.iter().filter(|part| !text.contains(part.as_str()));
        wrong.extend(missing.map(|part| format!("{name} lacks {part:?}")));
    }
    for (name, text, unwanted) in [
        ("stdout", &out, &step.out_lacks),
        ("stderr", &err, &step.err_lacks),
    ] {
        let there = unwanted.iter().filter(|part| text.contains(part.as_str()));
        wrong.extend(there.map(|part| format!("{name} has {part:?}")));
    }
    if step.json_lines {
        let lines: Vec<Result<Map<String, Value>, _>> =
            out.lines().map(serde_json::from_str).collect();
        if lines.is_empty() || lines.iter().any(Result::is_err) {
            wrong.push("not every line is a JSON object".to_owned());
        }
    }
    wrong
}

fn shown(output: &Output) -> String {
    let lines = [&output.stdout, &output.stderr].map(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().take(40).map(|line| format!("    {line}\n"));
        lines.collect::<String>()
    });
    format!("{}    ----\n{}", lines[0], lines[1])
}

/// Returns the files that are not as expected.
fn unlike(room: &Room, expected: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in expected {
        let places = match path.split_once('/') {
            Some(("@", rest)) => vec![room.project().join(rest)],
            Some((".", rest)) => run_directories(&room.state())
                .iter()
                .map(|run| run.join(rest))
                .collect(),
            _ => panic!("`{path}` begins neither with `./` nor with `@/`"),
        };
        let found: Vec<Vec<u8>> = places
            .iter()
            .filter_map(|path| fs::read(path).ok())
            .collect();
        let fits = match text {
            None => found.is_empty(),
            Some(text) => found.iter().any(|bytes| bytes == text.as_bytes()),
        };
        if !fits {
            let found: Vec<_> = found
                .iter()
                .map(|bytes| String::from_utf8_lossy(bytes))
                .collect();
            wrong.push(format!("`{path}` is {found:?}"));
        }
    }
    wrong
}

/// Returns the run directories below the state directory.
fn run_directories(state: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![state.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() {
                continue;
            }
            if path.file_name().is_some_and(|name| name == "files") {
                found.push(path);
            } else {
                open.push(path);
            }
        }
    }
    found
}
