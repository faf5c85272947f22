//! Queries Codex through its app server, the interface for editors.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::process::PERSONS_TOKEN;

/// Longest time that Codex may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hook as Codex lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedHook {
    /// `FILE:event:group:place`.
    pub(crate) key: String,
    /// Hash that must be trusted.
    pub(crate) hash: String,
    /// `trusted`, `untrusted`, …
    pub(crate) trust: String,
    /// Whether the hook is switched on.
    pub(crate) enabled: bool,
}

/// How Codex is queried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerQuery<'a> {
    /// Directory that the query is about.
    pub(crate) directory: &'a Path,
    /// Settings passed on the command line.
    pub(crate) arguments: &'a [String],
    /// Variables set in addition to this process's environment.
    pub(crate) environment: &'a [(String, String)],
}

/// Asks Codex for the hooks of a directory, with a configuration made for this query.
///
/// # Errors
/// Returns a one-sentence reason if Codex gives no answer.
pub(crate) fn hooks(
    codex: &Path,
    directory: &Path,
    home: &Path,
) -> Result<Vec<ListedHook>, String> {
    let home = ("CODEX_HOME".to_owned(), home.display().to_string());
    let asked = ServerQuery {
        directory,
        arguments: &[],
        environment: std::slice::from_ref(&home),
    };
    listed_hooks(codex, &asked)
}

/// Asks Codex for its hooks, with settings on its command line.
///
/// # Errors
/// Returns a one-sentence reason if Codex gives no answer.
pub(crate) fn listed_hooks(
    codex: &Path,
    asked: &ServerQuery<'_>,
) -> Result<Vec<ListedHook>, String> {
    let mut command = Command::new(codex);
    command
        .arg("app-server")
        .args(asked.arguments)
        .envs(asked.environment.iter().map(|(name, value)| (name, value)))
        .env_remove(PERSONS_TOKEN)
        .current_dir(asked.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| format!("`{}` cannot be started: {error}", codex.display()))?;
    let answer = converse(&mut child, asked.directory);
    let _ = child.kill();
    let _ = child.wait();
    listed(&answer?)
}

fn converse(child: &mut Child, directory: &Path) -> Result<Value, String> {
    let mut stdin = child.stdin.take().ok_or("it has no input")?;
    let stdout = child.stdout.take().ok_or("it has no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let until = Instant::now() + PATIENCE;
    let hello = json!({ "clientInfo": {
        "name": "interlock", "title": "Interlock", "version": env!("CARGO_PKG_VERSION"),
    } });
    say(
        &mut stdin,
        &json!({ "id": 1, "method": "initialize", "params": hello }),
    )?;
    answer_to(1, &receiver, until)?;
    say(&mut stdin, &json!({ "method": "initialized" }))?;
    let question = json!({ "cwds": [directory] });
    say(
        &mut stdin,
        &json!({ "id": 2, "method": "hooks/list", "params": question }),
    )?;
    answer_to(2, &receiver, until)
}

fn say(stdin: &mut ChildStdin, message: &Value) -> Result<(), String> {
    writeln!(stdin, "{message}").map_err(|error| format!("it does not listen: {error}"))
}

fn answer_to(id: u64, lines: &mpsc::Receiver<String>, until: Instant) -> Result<Value, String> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let line = lines
            .recv_timeout(left)
            .map_err(|_| "it did not answer as an app server".to_owned())?;
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if message.get("id").and_then(Value::as_u64) != Some(id) {
            continue;
        }
        return message
            .get("result")
            .cloned()
            .ok_or_else(|| "it does not know how to list hooks".to_owned());
    }
}

fn listed(answer: &Value) -> Result<Vec<ListedHook>, String> {
    let places = answer.get("data").and_then(Value::as_array);
    let places = places.ok_or("its list of hooks cannot be read")?;
    let mut all = Vec::new();
    for place in places {
        if let Some(error) = place.pointer("/errors/0") {
            return Err(format!("it says: {error}"));
        }
        let hooks = place.get("hooks").and_then(Value::as_array);
        for hook in hooks.into_iter().flatten() {
            let text = |key: &str| {
                let text = hook.get(key).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            all.push(ListedHook {
                key: text("key"),
                hash: text("currentHash"),
                trust: text("trustStatus"),
                enabled: hook.get("enabled") != Some(&Value::Bool(false)),
            });
        }
    }
    Ok(all)
}
