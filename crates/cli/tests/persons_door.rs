//! Commands that only a person may give, and all ways in which an agent might give them in the person's place.
#![cfg(target_os = "linux")]

mod commands;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{fs::MetadataExt as _, net::UnixListener},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use interlock_testkit::interlock::{Interlock, before_tool};
use interlock_testkit::{
    room::Room,
    terminal::{self, Terminal},
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const SESSION: &str = "7a1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21";

/// A room with a run, and the person's token, made before any agent was seen.
struct World {
    room: Room,
    run: String,
    token: String,
}

impl World {
    /// Starts a run in a state with `rules`.
    fn new(rules: &Value) -> Self {
        let room = Room::new().unwrap();
        let mut first = json!({"on": {"DONE": {"target": "b", "requires_approval": true}}});
        for (name, rule) in rules.as_object().unwrap() {
            first[name] = rule.clone();
        }
        let workflow = json!({
            "id": "door", "initial": "a", "states": {"a": first, "b": {"type": "final"}},
        });
        room.write("workflow.json", &workflow.to_string()).unwrap();
        let interlock = Interlock::new(INTERLOCK, &room);
        let token = interlock.token().unwrap();
        let run = interlock
            .start_for_session("workflow.json", SESSION)
            .unwrap();
        Self { room, run, token }
    }

    fn free() -> Self {
        Self::new(&json!({}))
    }

    fn interlock(&self) -> Interlock<'_> {
        Interlock::new(INTERLOCK, &self.room)
    }

    /// Sends an event to a hook; returns its answer.
    fn hook(&self, told: &Value, variables: &[(&str, &str)]) -> Output {
        let child = self
            .interlock()
            .hook_of("claude-code", None, told, variables);
        child.unwrap().wait_with_output().unwrap()
    }

    fn proposes(&self, id: &str, tool: &str, input: &Value) -> Value {
        let told = before_tool(&self.room, SESSION, id, tool, input);
        let output = self.hook(&told, &[]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn by_token(&self, arguments: &[&str]) -> Output {
        let mut command = self.room.command(INTERLOCK);
        command
            .args(arguments)
            .env("INTERLOCK_TOKEN", &self.token)
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    fn seen_at(&self) -> Vec<String> {
        let events = self.interlock().events(&self.run).unwrap();
        let seen = events.iter().filter(|one| one["event"] == "TokenSeen");
        seen.map(|one| one["place"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn reason(answer: &Value) -> &str {
    let verdict = &answer["hookSpecificOutput"];
    let is_denied = verdict["permissionDecision"] == "deny";
    let reason = verdict["permissionDecisionReason"].as_str();
    reason.filter(|_| is_denied).unwrap_or_default()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_token_in_a_call_is_denied_and_void() {
    type Form = (&'static str, fn(&str) -> Value);
    let forms: [Form; 4] = [
        (
            "Bash",
            |token| json!({ "command": format!("export X={token}") }),
        ),
        (
            "Write",
            |token| json!({ "file_path": "a.txt", "content": format!("x{token}y") }),
        ),
        (
            "WebFetch",
            |token| json!({ "url": format!("https://x.test/?t={token}"), "prompt": "p" }),
        ),
        ("mcp__s__t", |token| json!({ "deep": [{ token: 1 }] })),
    ];
    for (tool, input) in forms {
        let world = World::free();
        let answer = world.proposes("1", tool, &input(&world.token));
        let why = reason(&answer);
        assert!(why.starts_with("protected"), "{tool}: {answer}");
        assert!(why.contains("INTERLOCK_TOKEN"), "{tool}: {answer}");
        let said = answer.to_string();
        assert!(!said.contains(&world.token), "{tool}: {said}");
        assert!(said.contains("interlock token"), "{tool}: {said}");
        assert_eq!(world.seen_at(), ["call"], "{tool}");
        let log = world.interlock().run(&["log", &world.run]).unwrap();
        let log = String::from_utf8(log.stdout).unwrap();
        assert!(!log.contains(&world.token), "{tool}: {log}");
        // The token is worthless from now on, and the error says why.
        let refused = world.by_token(&["pause", &world.run]);
        assert!(!refused.status.success(), "{refused:?}");
        assert!(stderr(&refused).contains("void"), "{refused:?}");
    }
}

#[test]
fn a_token_in_a_result_is_void_and_the_person_is_told() {
    let world = World::free();
    let line = json!({ "command": "env" });
    assert_eq!(reason(&world.proposes("1", "Bash", &line)), "");
    let mut ended = before_tool(&world.room, SESSION, "1", "Bash", &line);
    ended["hook_event_name"] = json!("PostToolUse");
    ended["tool_response"] = json!({ "stdout": format!("A=1\nINTERLOCK_TOKEN={}\n", world.token) });
    let output = world.hook(&ended, &[]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("interlock token"), "{said}");
    assert!(!said.contains(&world.token), "{said}");
    assert_eq!(world.seen_at(), ["result"]);
    let refused = world.by_token(&["pause", &world.run]);
    assert!(stderr(&refused).contains("void"), "{refused:?}");
}

#[test]
fn what_only_looks_like_a_token_passes() {
    let world = World::free();
    for (id, text) in [
        ("1", "ilk_abc".to_owned()),
        ("2", format!("ilk_{}", "0".repeat(64))),
    ] {
        let line = json!({ "command": format!("echo {text}") });
        assert_eq!(reason(&world.proposes(id, "Bash", &line)), "", "{text}");
    }
    assert!(world.seen_at().is_empty());
    let paused = world.by_token(&["pause", &world.run]);
    assert!(paused.status.success(), "{paused:?}");
}

#[test]
fn a_token_in_the_clients_environment_does_not_answer_its_run() {
    let world = World::free();
    let other = world.interlock().start("workflow.json").unwrap();
    let told = before_tool(
        &world.room,
        SESSION,
        "1",
        "Bash",
        &json!({ "command": "ls" }),
    );
    let variables = [("INTERLOCK_TOKEN", world.token.as_str())];
    let first = String::from_utf8(world.hook(&told, &variables).stdout).unwrap();
    assert!(first.contains("environment"), "{first}");
    assert!(!first.contains(&world.token), "{first}");
    let told = before_tool(
        &world.room,
        SESSION,
        "2",
        "Bash",
        &json!({ "command": "ls" }),
    );
    let second = String::from_utf8(world.hook(&told, &variables).stdout).unwrap();
    assert!(!second.contains("environment"), "said once: {second}");
    assert_eq!(world.seen_at(), ["environment"]);
    for arguments in [
        vec!["pause", &world.run],
        vec!["approve", &world.run],
        vec!["cancel", &world.run],
        vec!["send", "DONE", "--run", &world.run],
        vec!["doctor", "--accept"],
    ] {
        let refused = world.by_token(&arguments);
        assert!(!refused.status.success(), "{arguments:?}: {refused:?}");
        assert!(
            stderr(&refused).contains("does not count here"),
            "{refused:?}"
        );
    }
    // The token still works for another run.
    let paused = world.by_token(&["pause", &other]);
    assert!(paused.status.success(), "{paused:?}");
}

/// Returns a shell line with which a client calls its hook.
fn calls_its_hook(world: &World) -> String {
    let input = json!({ "file_path": "a" });
    let told = before_tool(&world.room, SESSION, "c1", "Read", &input);
    let path = world.room.path("told.json");
    fs::write(&path, told.to_string()).unwrap();
    format!(
        "'{INTERLOCK}' hook claude-code < {} >/dev/null",
        path.display()
    )
}

/// Returns a client that calls its hook and then runs a line.
fn client(world: &World, line: &str) -> Command {
    let line = format!("{}; {line}", calls_its_hook(world));
    // A shell does not count as a client.
    let mut command = world.room.command("find");
    command.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &line, ";"]);
    command
}

/// A client whose process lives until it is dropped; its hook has been called once.
struct Client(Child);

impl Client {
    fn start(world: &World) -> Self {
        let mut child = client(world, "echo heard; exec cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut heard = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut heard).unwrap();
        assert_eq!(heard, "heard\n");
        Self(child)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn at_a_terminal(world: &World, variables: &[(&str, &str)]) -> Output {
    let mut command = world.room.command(INTERLOCK);
    command.args(["pause", &world.run]);
    command.envs(variables.iter().copied());
    terminal::output(&mut command).unwrap()
}

#[test]
fn a_pane_of_the_multiplexer_that_the_agent_runs_in_is_no_persons_terminal() {
    let world = World::new(&json!({ "allowed_tools": ["Read", "Bash"] }));
    let client = Client::start(&world);
    let server = std::process::id().to_string();
    for (variable, value) in [
        ("TMUX", format!("/tmp/tmux-0/default,{server},0")),
        ("STY", format!("{server}.pts-0.host")),
    ] {
        let refused = at_a_terminal(&world, &[(variable, &value)]);
        assert!(!refused.status.success(), "{variable}: {refused:?}");
        let said = stderr(&refused);
        for part in [world.run.as_str(), "another", "INTERLOCK_TOKEN"] {
            let part = if part == "another" {
                "terminal outside"
            } else {
                part
            };
            assert!(said.contains(part), "{variable}: {said}");
        }
    }
    // Elsewhere the terminal is a person's, and the token works inside the multiplexer, too.
    let paused = at_a_terminal(&world, &[]);
    assert!(paused.status.success(), "{paused:?}");
    let mut resumed = world.room.command(INTERLOCK);
    resumed
        .args(["cancel", &world.run])
        .env("TMUX", format!("/tmp/tmux-0/default,{server},0"))
        .env("INTERLOCK_TOKEN", &world.token)
        .stdin(Stdio::null());
    let resumed = resumed.output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    drop(client);
}

#[test]
fn a_multiplexer_is_no_persons_terminal_where_an_agents_lines_may_reach_its_socket() {
    let mut server = Command::new("sleep").arg("600").spawn().unwrap();
    let value = format!("/tmp/tmux-0/default,{},0", server.id());
    let world = World::free();
    let client = Client::start(&world);
    let refused = at_a_terminal(&world, &[("TMUX", &value)]);
    assert!(!refused.status.success(), "{refused:?}");
    assert!(stderr(&refused).contains("tmux"), "{refused:?}");
    drop(client);
    // No agent is left that could type there.
    let paused = at_a_terminal(&world, &[("TMUX", &value)]);
    assert!(paused.status.success(), "{paused:?}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_multiplexer_is_a_persons_terminal_where_the_kernel_keeps_it_from_the_agent() {
    let world = World::new(&json!({ "allowed_tools": ["Read", "Bash"] }));
    let client = Client::start(&world);
    // The agent is not below the multiplexer's server, and no line has run yet.
    let mut server = Command::new("sleep").arg("600").spawn().unwrap();
    let pane = format!("/tmp/tmux-0/default,{},0", server.id());
    let paused = at_a_terminal(&world, &[("TMUX", &pane)]);
    let held = interlock_sandbox::reading_level() >= interlock_sandbox::Level::Files;
    assert_eq!(paused.status.success(), held, "{paused:?}");
    server.kill().unwrap();
    server.wait().unwrap();
    drop(client);
}

#[test]
fn a_terminal_that_a_held_client_shares_is_no_persons_where_it_may_type_there() {
    let world = World::free();
    // Two programs at one terminal: first a client whose hook has been called, then the person.
    let line = format!(
        "cd {room}; mkfifo heard go
         find . -maxdepth 0 -exec sh -c \"$CALLS; echo > heard; exec cat go\" ';' &
         read -r _ < heard; '{INTERLOCK}' pause {run}; code=$?; echo > go; wait; exit $code",
        room = world.room.path("").display(),
        run = world.run,
    );
    let mut command = world.room.command("sh");
    command
        .args(["-c", &line])
        .env("CALLS", calls_its_hook(&world));
    let mut terminal = Terminal::start(&command, 30, 200).unwrap();
    let ended = terminal.end().unwrap();
    let screen = terminal.screen();
    let switch = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").unwrap_or_default();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let types = is_root || switch.trim() != "0";
    assert_eq!(ended.success(), !types, "{screen}");
    assert_eq!(screen.contains("TIOCSTI"), types, "{screen}");
}

/// Returns a line that connects to a socket, and prints `reached` or `kept`.
fn connects(path: &str) -> String {
    format!(
        "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => \"{path}\") ? \"reached\" : \"kept\"'"
    )
}

fn carried(room: &Room, line: &str) -> String {
    let mut command = room.command(INTERLOCK);
    command.args(["exec", "--as", "writing", "--project", ".", "--", line]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_carried_line_that_writes_reaches_no_daemon_but_those_that_are_named() {
    let room = Room::new().unwrap();
    fs::create_dir_all(room.path("tmp/tmux-0")).unwrap();
    let sockets = ["tmp/app.sock", "tmp/other.sock", "tmp/tmux-0/default"];
    let paths = sockets.map(|name| room.path(name).display().to_string());
    let _listeners = paths
        .each_ref()
        .map(|path| UnixListener::bind(path).unwrap());
    for path in &paths {
        assert_eq!(carried(&room, &connects(path)), "kept", "{path}");
    }
    let pair = "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) and print \"pair\"'";
    assert_eq!(carried(&room, pair), "pair");
    // The sockets of terminals stay out of reach even if the configuration names them.
    fs::create_dir_all(room.path("config/interlock")).unwrap();
    let named = format!("[sandbox]\nsockets = [{:?}, {:?}]\n", paths[0], paths[2]);
    fs::write(room.path("config/interlock/config.toml"), named).unwrap();
    assert_eq!(carried(&room, &connects(&paths[0])), "reached");
    for path in &paths[1..] {
        assert_eq!(carried(&room, &connects(path)), "kept", "{path}");
    }
}

#[test]
fn a_held_session_whose_state_is_gone_is_refused_until_a_person_says_otherwise() {
    type Loss = (&'static str, fn(&World));
    let gone: [Loss; 3] = [
        ("the state directory", |world| {
            fs::remove_dir_all(world.room.state()).unwrap();
        }),
        ("the bindings", |world| {
            fs::remove_dir_all(world.room.state().join("interlock/sessions")).unwrap();
        }),
        ("the baseline", |world| {
            let runs = world.room.state().join("interlock/runs");
            for run in fs::read_dir(runs).unwrap() {
                fs::remove_file(run.unwrap().path().join("baseline.json")).unwrap();
            }
        }),
    ];
    for (what, remove) in gone {
        let world = World::free();
        let line = json!({ "command": "ls" });
        assert_eq!(reason(&world.proposes("1", "Bash", &line)), "");
        remove(&world);
        let told = before_tool(&world.room, SESSION, "2", "Bash", &line);
        let refused = world.hook(&told, &[]);
        assert_eq!(refused.status.code(), Some(2), "{what}: {refused:?}");
        let said = stderr(&refused);
        assert!(said.contains("interlock doctor --forget"), "{what}: {said}");
        // No run guarded the other session: it is as free as before.
        let told = before_tool(&world.room, "another", "3", "Bash", &line);
        let other = world.hook(&told, &[("INTERLOCK_UNUSED", "1")]);
        if what == "the bindings" {
            assert!(other.status.success(), "{what}: {other:?}");
        }
        let mut forget = world.room.command(INTERLOCK);
        forget.args(["doctor", "--forget", &world.run]);
        let forgotten = terminal::output(&mut forget);
        if what == "the state directory" {
            assert!(forgotten.unwrap().status.success(), "{what}");
            let told = before_tool(&world.room, SESSION, "4", "Bash", &line);
            assert!(world.hook(&told, &[]).status.success(), "{what}");
        }
    }
}

/// Returns the paths of the marks of guarded sessions.
fn marks(room: &Room) -> Vec<PathBuf> {
    let entries = fs::read_dir(room.path("config/interlock-held")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_damaged_mark_is_written_anew_or_ended_by_its_file() {
    let world = World::free();
    let line = json!({ "command": "ls" });
    assert_eq!(reason(&world.proposes("1", "Bash", &line)), "");
    let damage = || {
        let marks = marks(&world.room);
        assert!(!marks.is_empty());
        marks.iter().for_each(|mark| fs::write(mark, "{").unwrap());
        marks
    };
    // The run that guards the session is known: the mark is restored.
    let damaged = damage();
    assert_eq!(reason(&world.proposes("2", "Bash", &line)), "");
    let of_session = |path: &&PathBuf| path.to_string_lossy().contains("session-");
    let mark = damaged.iter().find(of_session).unwrap();
    assert!(fs::read_to_string(mark).unwrap().contains(&world.run));

    damage();
    fs::remove_dir_all(world.room.state()).unwrap();
    let told = before_tool(&world.room, SESSION, "3", "Bash", &line);
    let refused = world.hook(&told, &[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = stderr(&refused);
    assert!(
        said.contains(&format!("doctor --forget {}", mark.display())),
        "{said}"
    );
    let forget = |named: &str| {
        let mut forget = world.room.command(INTERLOCK);
        forget.args(["doctor", "--forget", named]);
        terminal::output(&mut forget).unwrap()
    };
    let elsewhere = world.room.write("elsewhere", "").unwrap();
    assert!(!forget(elsewhere.to_str().unwrap()).status.success());
    assert!(fs::exists(&elsewhere).unwrap());
    for mark in marks(&world.room) {
        assert!(forget(mark.to_str().unwrap()).status.success());
    }
    let told = before_tool(&world.room, SESSION, "4", "Bash", &line);
    assert!(world.hook(&told, &[]).status.success());
}

#[test]
fn a_session_without_a_run_leaves_no_mark_and_one_whose_run_is_over_is_free() {
    let room = Room::new().unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let told = before_tool(&room, "s9", "1", "Bash", &json!({ "command": "ls" }));
    let output = interlock.hook(&told).unwrap().wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!room.path("config/interlock-held").exists());

    let world = World::free();
    let line = json!({ "command": "ls" });
    assert_eq!(reason(&world.proposes("1", "Bash", &line)), "");
    assert!(world.room.path("config/interlock-held").exists());
    let cancelled = world.by_token(&["cancel", &world.run]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    fs::remove_dir_all(world.room.state()).unwrap();
    let told = before_tool(&world.room, SESSION, "2", "Bash", &line);
    assert!(world.hook(&told, &[]).status.success());
}

/// Runs a line below a client whose hook has been called before; returns its standard error.
fn below_a_client(world: &World, line: &str) -> String {
    let output = client(world, line).stdin(Stdio::null()).output().unwrap();
    stderr(&output)
}

#[test]
fn an_agent_is_no_person_with_a_token_that_was_made_before_it() {
    let world = World::free();
    let other = world.interlock().start("workflow.json").unwrap();
    let pauses = format!(
        "INTERLOCK_TOKEN={} '{INTERLOCK}' pause {other}",
        world.token
    );
    let said = below_a_client(&world, &pauses);
    assert!(said.contains("below an agent"), "{said}");
    // The person's own shell is below no client.
    assert!(world.by_token(&["pause", &other]).status.success());
}

#[test]
fn an_agent_is_no_person_at_a_terminal_either() {
    let world = World::free();
    let other = world.interlock().start("workflow.json").unwrap();
    let pauses = format!("'{INTERLOCK}' pause {other}");
    let shown = terminal::output(&mut client(&world, &pauses)).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = format!("{}{}", text(&shown.stdout), stderr(&shown));
    assert!(said.contains("below an agent"), "{said}");
    let status = world.interlock().run(&["status", &other, "--json"]);
    let status: Value = serde_json::from_slice(&status.unwrap().stdout).unwrap();
    assert_eq!(status["status"], "running");
}

#[test]
fn an_agent_whose_run_cannot_be_read_is_no_person_either() {
    let world = World::free();
    let other = world.interlock().start("workflow.json").unwrap();
    let runs = world.room.state().join("interlock/runs");
    let database = runs.join(&world.run).join("run.db");
    assert!(database.is_file());
    let damages = format!("printf damaged > {}", database.display());
    let pauses = format!(
        "INTERLOCK_TOKEN={} '{INTERLOCK}' pause {other}",
        world.token
    );
    let said = below_a_client(&world, &format!("{damages}; {pauses}"));
    assert!(said.contains("below an agent"), "{said}");
}

#[test]
fn the_mark_of_a_run_kept_elsewhere_is_looked_up_where_it_is_kept() {
    let world = World::free();
    let line = json!({ "command": "ls" });
    assert_eq!(reason(&world.proposes("1", "Bash", &line)), "");
    let elsewhere = world.room.path("another-state");
    let elsewhere = [("XDG_STATE_HOME", elsewhere.to_str().unwrap())];
    let told = |session: &str| before_tool(&world.room, session, "2", "Bash", &line);
    // The run exists, but does not guard this conversation.
    let free = world.hook(&told("another"), &elsewhere);
    assert!(free.status.success(), "{free:?}");
    let held = world.hook(&told(SESSION), &elsewhere);
    assert_eq!(held.status.code(), Some(2), "{held:?}");
}
