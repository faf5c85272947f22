//! Trying programs for real: what a client would start, with a harmless input and a time limit.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Longest that a probe waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns what a program says to `--version`.
pub(super) fn version(program: &Path) -> Option<String> {
    let child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (_, text) = finish(child, Vec::new()).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Calls a configured hook with an event that means nothing; returns milliseconds.
pub(super) fn hook(command: &str, project: &Path) -> Result<u64, String> {
    let input = json!({
        "session_id": "interlock-doctor", "cwd": project, "hook_event_name": "InterlockProbe",
    });
    let began = Instant::now();
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{command}` cannot be started: {error}"))?;
    let (success, text) = finish(child, input.to_string().into_bytes())?;
    let took = milliseconds(began);
    match serde_json::from_str::<Value>(&text) {
        Ok(_) if success => Ok(took),
        _ => Err(format!("`{command}` did not answer with one JSON document")),
    }
}

/// Lets a line that may not write try to make `mark`; tells whether it could.
pub(super) fn write_confined(program: &Path, project: &Path, mark: &Path) -> Result<bool, String> {
    let line = r#"(: > "$INTERLOCK_DOCTOR_MARK") 2>/dev/null; echo done"#;
    let child = Command::new(program)
        .args(["exec", "--as", "no-write", "--project"])
        .arg(project)
        .args(["--", line])
        .env("INTERLOCK_DOCTOR_MARK", mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{}` cannot be started: {error}", program.display()))?;
    match finish(child, Vec::new())? {
        (true, text) if text.trim() == "done" => Ok(mark.exists()),
        _ => Err("`interlock exec` could not run a line here".to_owned()),
    }
}

/// Starts a control server and opens a conversation; returns milliseconds.
pub(super) fn server(command: &str, arguments: &[String], project: &Path) -> Result<u64, String> {
    let began = Instant::now();
    let mut child = Command::new(command)
        .args(arguments)
        .current_dir(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{command}` cannot be started: {error}"))?;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "interlock doctor", "version": env!("CARGO_PKG_VERSION") },
    } });
    let said = child.stdin.as_mut().map(|stdin| writeln!(stdin, "{hello}"));
    let stdout = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let _ = sender.send(read.and_then(Result::ok).map(|_| line));
    });
    let line = receiver
        .recv_timeout(PATIENCE)
        .ok()
        .flatten()
        .unwrap_or_default();
    let took = milliseconds(began);
    let _ = child.kill();
    let _ = child.wait();
    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
    match (said, answer.pointer("/result/serverInfo")) {
        (Some(Ok(())), Some(_)) => Ok(took),
        _ => Err(format!("`{command}` did not answer as a server")),
    }
}

/// Feeds a program, waits for its end, and returns whether it succeeded and what it printed.
fn finish(mut child: Child, input: Vec<u8>) -> Result<(bool, String), String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read ends the pipe; its answer will tell.
        let _ = stdin.write_all(&input);
    }
    let stdout = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.map(|mut stdout| stdout.read_to_string(&mut text));
        let _ = sender.send(text);
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(text) => {
            let status = child.wait().map_err(|error| error.to_string())?;
            Ok((status.success(), text))
        }
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("no answer within {} s", PATIENCE.as_secs()))
        }
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
