//! Starts programs as a client would, with harmless input and a time limit.

use std::{
    ffi::OsString,
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use interlock_store::{Home, SessionKey};
use serde_json::{Value, json};

use super::{Check, Health, hooks::HookCommand};
use crate::{
    process::PERSONS_TOKEN,
    settings::{self, Site, client_def::ClientDef},
};

/// Longest time that a probe waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the version of a program: that of its npm package, or the output of `--version`.
///
/// Some programs unpack themselves or leave files behind whenever they are started.
pub(super) fn version(program: &Path) -> Option<String> {
    packaged(program).or_else(|| said_version(program))
}

/// Returns the version of the npm package that contains a program.
fn packaged(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let package = real.ancestors().skip(1).find(|place| {
        let in_modules = |above: &Path| {
            above.ends_with("node_modules")
                || above
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with('@'))
        };
        place.parent().is_some_and(in_modules)
    })?;
    let text = settings::read(&package.join("package.json")).ok()??;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    manifest.get("version")?.as_str().map(str::to_owned)
}

/// Returns the output of `--version`.
///
/// The program first runs in a temporary home, where it may leave any files; a program that needs the person's home to find
/// itself is then run again with that home.
fn said_version(program: &Path) -> Option<String> {
    let home = tempfile::tempdir().ok();
    let apart = home.as_ref().and_then(|home| {
        let (ended_well, said) = answer_of(Command::new(program).env("HOME", home.path()))?;
        let says_a_version = said.contains(|c: char| c.is_ascii_digit());
        (ended_well && says_a_version).then_some(said)
    });
    let with_home = || answer_of(&mut Command::new(program)).map(|(_, said)| said);
    apart.or_else(with_home).filter(|said| !said.is_empty())
}

/// Runs a program that prints its version; returns whether it succeeded, and its output.
fn answer_of(program: &mut Command) -> Option<(bool, String)> {
    let child = program
        .arg("--version")
        .env_remove(PERSONS_TOKEN)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (ended_well, text) = finish(child, Vec::new()).ok()?;
    Some((ended_well, text.trim().to_owned()))
}

/// How often the hook before a tool call is tried.
const TRIES: usize = 5;

/// Calls every configured hook with a harmless call; returns the median time of the first.
///
/// The call belongs to no session that a run could guard, and cannot take a waiting run: it is made in a temporary directory.
pub(super) fn lines(
    client: &ClientDef,
    lines: &[HookCommand],
    site: &Site,
    state: &Path,
) -> (Option<u64>, Check) {
    let word = client.client.word();
    let broken = |why: String| {
        let advice = "run `interlock init` with the program you use";
        (None, Check::new(word, WHAT, Health::Fail, why, advice))
    };
    let nowhere = match tempfile::tempdir() {
        Ok(directory) => directory,
        Err(error) => return broken(format!("no directory for a probe can be made: {error}")),
    };
    let input = harmless(client, nowhere.path());
    let mut times = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        for _ in 0..if index == 0 { TRIES } else { 1 } {
            match hook(line, &input, site) {
                Ok(took) if index == 0 => times.push(took),
                Ok(_) => {}
                Err(why) => return broken(why),
            }
        }
    }
    // The probe must belong to no real session.
    let key = SessionKey::new(word, SESSION);
    let forgotten = Home::at(state).forget_presence(&key, nowhere.path());
    if let Err(error) = forgotten {
        return broken(error.to_string());
    }
    times.sort_unstable();
    let usual = times.get(times.len() / 2).copied().unwrap_or_default();
    let seen = format!("in {usual} ms, the median of {TRIES} tries");
    let check = Check::new(word, WHAT, Health::Ok, seen, "").after(usual);
    (Some(usual), check)
}

const WHAT: &str = "hook answers";
/// Session id of a probe.
const SESSION: &str = "interlock-doctor";

fn harmless(client: &ClientDef, directory: &Path) -> Value {
    let session = SESSION;
    let directory = directory.display().to_string();
    match client.form() {
        Some(form) => (form.probe)(session, &directory),
        None => json!({
            "event": "tool.execute.before", "session": session, "directory": directory,
            "call": session, "tool": "read", "args": { "filePath": format!("{directory}/nothing") },
        }),
    }
}

/// Calls a configured hook as the client would; returns the time in milliseconds.
fn hook(line: &HookCommand, input: &Value, site: &Site) -> Result<u64, String> {
    let began = Instant::now();
    let (shown, mut command) = match line {
        HookCommand::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]);
            (settings::shown(line), command)
        }
        HookCommand::Program(program) => {
            let mut command = Command::new(program);
            command.args(["hook", "opencode", "tool.execute.before"]);
            (program.clone(), command)
        }
    };
    let said = tempfile::tempfile().map_err(|error| error.to_string())?;
    let child = command
        .current_dir(&site.project_root)
        .env("PATH", path(site))
        .env_remove(PERSONS_TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(said.try_clone().map_err(|error| error.to_string())?)
        .spawn()
        .map_err(|error| format!("`{shown}` cannot be started: {error}"))?;
    let (success, text) = finish(child, input.to_string().into_bytes())?;
    let took = milliseconds(began);
    match serde_json::from_str::<Value>(&text) {
        Ok(_) if success => Ok(took),
        _ => Err(format!(
            "`{shown}` did not answer with one JSON document{}",
            first_line(said)
        )),
    }
}

/// Returns the `PATH` on which a client would find programs.
fn path(site: &Site) -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let places = site.programs.iter().cloned();
    let all: Vec<PathBuf> = places.chain(std::env::split_paths(&own)).collect();
    std::env::join_paths(all).unwrap_or(own)
}

/// Returns the first line of a program's error output, as a suffix for a message.
fn first_line(mut said: File) -> String {
    let mut text = Vec::new();
    let _ = said
        .rewind()
        .and_then(|()| said.take(4096).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(String::new, |line| format!("; it said: {}", line.trim()))
}

/// Runs a line that may not write and tries to create `mark`; returns whether it could.
pub(super) fn write_confined(program: &Path, project: &Path, mark: &Path) -> Result<bool, String> {
    let line = r#"(: > "$INTERLOCK_DOCTOR_MARK") 2>/dev/null; echo done"#;
    let child = Command::new(program)
        .args(["exec", "--as", "no-write", "--project"])
        .arg(project)
        .args(["--", line])
        .env("INTERLOCK_DOCTOR_MARK", mark)
        .env_remove(PERSONS_TOKEN)
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

/// Starts a control server, opens a connection and lists the tools; returns the time in milliseconds and the number of tools.
pub(super) fn server(
    command: &str,
    arguments: &[String],
    site: &Site,
) -> Result<(u64, usize), String> {
    let began = Instant::now();
    let mut child = Command::new(command)
        .args(arguments)
        .current_dir(&site.project_root)
        .env("PATH", path(site))
        .env_remove(PERSONS_TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{command}` cannot be started: {error}"))?;
    let tools = converse(&mut child, began);
    let took = milliseconds(began);
    let _ = child.kill();
    let _ = child.wait();
    match tools {
        Some(tools) => Ok((took, tools)),
        None => Err(format!("`{command}` did not answer as a server")),
    }
}

fn converse(child: &mut Child, began: Instant) -> Option<usize> {
    let mut stdin = child.stdin.take()?;
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let answer_to = |id: u64| loop {
        let left = PATIENCE.saturating_sub(began.elapsed());
        let line = receiver.recv_timeout(left).ok()?;
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        if answer.get("id").and_then(Value::as_u64) == Some(id) {
            return Some(answer);
        }
    };
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "interlock doctor", "version": env!("CARGO_PKG_VERSION") },
    } });
    writeln!(stdin, "{hello}").ok()?;
    answer_to(1)?.pointer("/result/serverInfo")?;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    writeln!(stdin, "{ready}\n{list}").ok()?;
    let tools = answer_to(2)?.pointer("/result/tools")?.as_array()?.len();
    Some(tools)
}

/// Writes a program's input, waits for its end, and returns whether it succeeded and what it printed.
fn finish(mut child: Child, input: Vec<u8>) -> Result<(bool, String), String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read closes the pipe; its answer decides.
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::version;

    #[test]
    fn a_program_that_is_asked_for_its_version_leaves_nothing_in_the_persons_home() {
        let room = tempfile::tempdir().unwrap();
        let seen = room.path().join("homes");
        let program = room.path().join("client");
        let script = format!(
            "#!/bin/sh\necho \"$HOME\" >> '{}'\necho left > \"$HOME/left\"\necho 1.2.3\n",
            seen.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(version(&program).as_deref(), Some("1.2.3"));
        let homes = fs::read_to_string(&seen).unwrap();
        let own = std::env::var("HOME").unwrap_or_default();
        assert!(homes.lines().all(|home| home != own), "{homes}");
        assert_eq!(homes.lines().count(), 1);
    }
}
