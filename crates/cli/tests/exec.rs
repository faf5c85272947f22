//! `interlock exec` as a process: what passes through, what is refused, and what is reported to a run.

use std::{
    fs,
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    process::{self, Output, Stdio},
};

use interlock_core::command::{Command, CommandKind};
use interlock_store::{EventLog as _, Home, submit};
use interlock_testkit::{interlock::Interlock, room::Room, terminal};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// A session in a run with one state, whose hook and lines are called as a client would.
struct Session {
    room: Room,
    run: String,
}

impl Session {
    /// Starts a run of a workflow whose first state has `policy`.
    fn new(policy: &Value) -> Self {
        Self::with_machine(policy, &json!({}))
    }

    fn with_machine(policy: &Value, more: &Value) -> Self {
        let room = Room::new().unwrap();
        let mut state = policy.clone();
        state["on"] = json!({ "DONE": "end" });
        let mut workflow = json!({
            "id": "w", "initial": "work",
            "states": { "work": state, "end": { "type": "final" } },
        });
        for (key, value) in more.as_object().unwrap() {
            match (key.as_str(), value.as_object()) {
                ("states", Some(states)) => {
                    for (name, state) in states {
                        workflow["states"][name] = state.clone();
                    }
                }
                _ => workflow[key] = value.clone(),
            }
        }
        fs::write(room.path("workflow.json"), workflow.to_string()).unwrap();
        let path = room.path("workflow.json");
        let run = Interlock::new(INTERLOCK, &room)
            .start_for_session(path.to_str().unwrap(), "session")
            .unwrap();
        Self { room, run }
    }

    fn no_write() -> Self {
        Self::new(&json!({ "allowed_tools": ["Read", "Grep", "Glob", "Bash"] }))
    }

    /// Reports an event of a call to the hook.
    fn hook(&self, id: &str, event: &str, command: &str, more: &Value) -> Value {
        let mut input = json!({
            "session_id": "session", "cwd": self.room.project(), "hook_event_name": event,
            "permission_mode": "bypassPermissions", "tool_name": "Bash",
            "tool_input": { "command": command }, "tool_use_id": id,
        });
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        let output = Interlock::new(INTERLOCK, &self.room)
            .hook(&input)
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the line that the client would run instead of `line`.
    fn carried(&self, id: &str, line: &str) -> String {
        let answer = self.hook(id, "PreToolUse", line, &json!({}));
        let said = &answer["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "allow", "{line}: {answer}");
        said["updatedInput"]["command"].as_str().unwrap().to_owned()
    }

    /// Returns a shell as the client starts it.
    fn shell(&self, line: &str) -> process::Command {
        let mut command = self.room.command("bash");
        command.args(["-c", line]);
        command
    }

    /// Passes a line to the hook and runs the line that the client would.
    fn run(&self, id: &str, line: &str) -> Output {
        let carried = self.carried(id, line);
        self.shell(&carried).output().unwrap()
    }

    /// Returns the events of the run with this name.
    fn events(&self, name: &str) -> Vec<Value> {
        let log = self
            .room
            .command(INTERLOCK)
            .args(["log", &self.run, "--json"])
            .output()
            .unwrap();
        let text = String::from_utf8(log.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["event"] == name)
            .collect()
    }

    fn status(&self) -> Value {
        Interlock::new(INTERLOCK, &self.room)
            .status(&self.run)
            .unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// Runs a line in a room as a person would.
fn person(room: &Room, arguments: &[&str]) -> Output {
    room.command(INTERLOCK)
        .arg("exec")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_line_passes_through_and_its_run_is_told() {
    let session = Session::no_write();
    let output = session.run("t1", "basename out; echo err >&2; (exit 3)");
    assert_eq!(
        (output.status.code(), said(&output), complained(&output)),
        (Some(3), "out".to_owned(), "err".to_owned())
    );
    let confined = session.events("LineConfined");
    assert_eq!(confined[0]["call"], "t1");
    let level = confined[0]["level"].as_str().unwrap();
    assert!(["full", "files", "partial", "environment"].contains(&level));
    assert_eq!(session.events("LineEnded")[0]["exit"], 3);
    assert_eq!(session.status()["confinement"]["last_line"]["level"], level);
}

#[test]
fn a_ticket_is_for_one_line_and_one_use() {
    let session = Session::no_write();
    let carried = session.carried("t1", "basename one");
    let other = carried.replace("basename one", "basename two");
    let refused = session.shell(&other).output().unwrap();
    assert_eq!(refused.status.code(), Some(126), "{refused:?}");
    assert_eq!(said(&refused), "");
    assert!(complained(&refused).contains("another line"), "{refused:?}");
    // A ticket that was presented for another line is used up.
    assert_eq!(
        session.shell(&carried).output().unwrap().status.code(),
        Some(126)
    );

    let carried = session.carried("t2", "basename one");
    assert_eq!(said(&session.shell(&carried).output().unwrap()), "one");
    let again = session.shell(&carried).output().unwrap();
    assert_eq!(again.status.code(), Some(126));
    assert_eq!(
        (said(&again), complained(&again).contains("used already")),
        (String::new(), true)
    );

    for ticket in ["0", "../../x", &"0".repeat(32), ""] {
        let unknown = person(&session.room, &["--ticket", ticket, "--", "basename one"]);
        assert_eq!(
            (unknown.status.code(), said(&unknown)),
            (Some(126), String::new())
        );
    }
    assert_eq!(session.events("LineEnded").len(), 1);
}

#[test]
fn a_damaged_ticket_runs_nothing() {
    let session = Session::no_write();
    let carried = session.carried("t1", "basename one");
    let tickets = session.room.state().join("interlock/tickets");
    for ticket in fs::read_dir(&tickets).unwrap() {
        let path = ticket.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"plan\"", "\"plain\"")).unwrap();
    }
    let refused = session.shell(&carried).output().unwrap();
    assert_eq!(
        (refused.status.code(), said(&refused)),
        (Some(126), String::new())
    );
    assert_eq!(fs::read_dir(&tickets).unwrap().count(), 0);
}

#[test]
fn a_paused_run_lets_nothing_begin() {
    let session = Session::no_write();
    let carried = session.carried("t1", "basename one");
    let home = Home::at(session.room.state().join("interlock"));
    let mut log = home.open_run(&session.run.as_str().into()).unwrap();
    let (machine, mut run) = (log.machine().unwrap(), log.load().unwrap());
    let command = CommandKind::Pause {
        by: "a person".to_owned(),
        reason: None,
    };
    submit(
        &mut log,
        &machine,
        &mut run,
        &Command {
            at_ms: 1,
            kind: command,
        },
    )
    .unwrap();
    let refused = session.shell(&carried).output().unwrap();
    assert_eq!(refused.status.code(), Some(126));
    assert!(complained(&refused).contains("paused"), "{refused:?}");
}

#[test]
fn tickets_go_with_their_session() {
    let session = Session::no_write();
    session.carried("t1", "basename one");
    let tickets = session.room.state().join("interlock/tickets");
    assert_eq!(fs::read_dir(&tickets).unwrap().count(), 1);
    session.hook("t1", "SessionEnd", "", &json!({}));
    assert_eq!(fs::read_dir(&tickets).unwrap().count(), 0);
}

#[test]
fn streams_carry_every_byte() {
    let room = Room::new().unwrap();
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(200_000).collect();
    let mut child = room
        .command(INTERLOCK)
        .args(["exec", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let wanted = bytes.clone();
    let writes = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writes.join().unwrap().unwrap();
    assert_eq!(output.stdout, wanted);
}

/// A line may belong to an agent, and an agent may not answer for the person.
#[test]
fn the_persons_token_reaches_no_line() {
    let room = Room::new().unwrap();
    let output = room
        .command(INTERLOCK)
        .env("INTERLOCK_TOKEN", "answers-for-me")
        .env("ITS_NEIGHBOUR", "stays")
        .args(["exec", "--", "env"])
        .output()
        .unwrap();
    let said = said(&output);
    assert!(said.contains("ITS_NEIGHBOUR=stays"), "{output:?}");
    assert!(!said.contains("INTERLOCK_TOKEN"), "{said}");
    assert!(!said.contains("answers-for-me"), "{said}");
}

#[test]
fn it_ends_as_its_line_ends() {
    let room = Room::new().unwrap();
    for code in [0, 1, 2, 126, 127, 255] {
        let output = person(&room, &["--", &format!("exit {code}")]);
        assert_eq!(output.status.code(), Some(code));
    }
    for signal in [15, 9, 6, 2] {
        let output = person(&room, &["--", &format!("kill -{signal} $$")]);
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
    }
    // Several words are a command with its operands, and none of them is parsed again.
    let output = person(&room, &["--", "printf", "%s|", "a b", "$HOME", "it's"]);
    assert_eq!(said(&output), "a b|$HOME|it's|");
}

#[test]
fn a_terminal_stays_a_terminal() {
    let room = Room::new().unwrap();
    let mut command = room.command(INTERLOCK);
    command.args([
        "exec",
        "--",
        "test -t 0 && ! test -t 1 && echo \"terminal $(stat -Lc %F /proc/self/fd/0)\"",
    ]);
    let output = terminal::output(&mut command).unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains("terminal char"), "{output:?}");
}

#[test]
fn a_state_that_writes_nothing_is_held_to_that_whatever_runs() {
    let room = Room::new().unwrap();
    room.write(
        "made.sh",
        "echo x > in-project\necho x > \"$OUT\"\nrm -f kept\n: > \"$TMPDIR/own\" && echo own\n",
    )
    .unwrap();
    room.write("kept", "kept\n").unwrap();
    let output = room
        .command(INTERLOCK)
        .args(["exec", "--require", "partial", "--", "sh made.sh"])
        .env("OUT", room.path("outside"))
        .output()
        .unwrap();
    assert_eq!(said(&output), "own", "{output:?}");
    assert_eq!(room.read("in-project"), None);
    assert!(!room.path("outside").exists());
    assert_eq!(room.read("kept").as_deref(), Some("kept\n"));
}

#[test]
fn below_the_required_level_nothing_starts() {
    let session = Session::no_write();
    let own = session.room.config().join("interlock");
    fs::create_dir_all(&own).unwrap();
    // No machine supports more than this without help from the kernel; compare its level.
    let reached = session.status()["confinement"]["writing"]["level"].clone();
    let output = person(
        &session.room,
        &["--as", "writing", "--require", "full", "--", "echo ran"],
    );
    if reached == "full" {
        assert_eq!(said(&output), "ran", "{output:?}");
    } else {
        assert_eq!(output.status.code(), Some(126), "{output:?}");
        assert!(complained(&output).contains("full"), "{output:?}");
    }
    let output = person(
        &session.room,
        &["--require", "everything", "--", "echo ran"],
    );
    assert_eq!(
        (output.status.code(), said(&output)),
        (Some(126), String::new())
    );
}

#[test]
fn blocked_variables_are_gone_and_overrides_are_set() {
    let session = Session::new(&json!({
        "allowed_tools": ["Read", "Bash"],
        "allowed_commands": ["sh show.sh", "python3 show.py"],
        "blocked_env": ["PROD_DB_URL"],
        "env_overrides": { "NODE_ENV": "test" },
    }));
    let room = &session.room;
    room.write(
        "show.sh",
        "echo \"${PROD_DB_URL:-none} $NODE_ENV\"\nprintenv PROD_DB_URL\nenv | grep PROD_DB\ngrep -a PROD_DB /proc/self/environ\ngrep -a PROD_DB \"/proc/$PPID/environ\"\nexit 0\n",
    )
    .unwrap();
    room.write(
        "show.py",
        "import os\nprint(os.environ.get('PROD_DB_URL'), b'PROD_DB' in open('/proc/self/environ','rb').read(), os.environ['NODE_ENV'])\n",
    )
    .unwrap();
    for (id, line, wanted) in [
        ("t1", "sh show.sh", "none test"),
        ("t2", "python3 show.py", "None False test"),
    ] {
        let carried = session.carried(id, line);
        let output = session
            .shell(&carried)
            .env("PROD_DB_URL", "postgres://secret")
            .env("NODE_ENV", "production")
            .output()
            .unwrap();
        assert_eq!(said(&output), wanted, "{output:?}");
    }
}

#[test]
fn what_a_program_wrote_raises_the_interrupt_once_its_line_has_ended() {
    let session = Session::with_machine(
        &json!({ "allowed_tools": ["Read", "Edit", "Bash"] }),
        &json!({
            "interrupts": { "schema": { "trigger": { "file_pattern": "db/**" }, "target": "review" } },
            "states": { "review": { "on": { "BACK": "$return" } } },
        }),
    );
    session
        .room
        .write("make.sh", "mkdir -p db; echo x > db/one.sql\n")
        .unwrap();
    let carried = session.carried("t1", "sh make.sh");
    let output = session.shell(&carried).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        session.events("LineEnded")[0]["wrote"][0]["relative"],
        "db/one.sql"
    );
    assert_eq!(session.status()["state"], "review");
    let answer = session.hook(
        "t1",
        "PostToolUse",
        &carried,
        &json!({ "tool_response": { "stdout": "", "stderr": "", "interrupted": false } }),
    );
    let told = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(told.contains("review"), "{told}");
}

#[test]
fn a_protected_file_that_a_program_writes_is_put_back_and_pauses_the_run() {
    let session = Session::new(&json!({ "allowed_tools": ["Read", "Edit", "Bash"] }));
    session
        .room
        .write(".mcp.json", "{\"mcpServers\":{}}\n")
        .unwrap();
    session
        .room
        .write(
            "make.sh",
            "echo x > .mcp.json; mkdir -p .claude; echo x > .claude/settings.json; exit 0\n",
        )
        .unwrap();
    // The first call of the session records the present state.
    session.run("t0", "ls");
    session.run("t1", "sh make.sh");
    assert_eq!(
        session.room.read(".mcp.json").as_deref(),
        Some("{\"mcpServers\":{}}\n")
    );
    assert_eq!(session.room.read(".claude/settings.json"), None);
    let status = session.status();
    let prevented = session.events("ProtectedChanged").is_empty();
    // A change that the kernel prevented does not count; one that was undone pauses the run.
    assert_eq!(
        status["status"],
        if prevented { "running" } else { "paused" }
    );
}

#[test]
fn a_project_cannot_widen_what_lines_may_do() {
    let session = Session::no_write();
    for setting in [
        "[sandbox]\nwritable = [\"/\"]\n",
        "[shell]\nallow = [\"sudo\"]\n",
        "[protect]\nallow = [\".envrc\"]\n",
        "[trust]\nprojects = [\"/\"]\n",
    ] {
        session
            .room
            .write(".interlock/config.toml", setting)
            .unwrap();
        let output = person(&session.room, &["--", "echo ran"]);
        assert_eq!(
            (output.status.code(), said(&output)),
            (Some(126), String::new()),
            "{setting}"
        );
        assert!(complained(&output).contains("person"), "{output:?}");
    }
}

#[test]
fn overrides_that_change_programs_need_a_trusted_project() {
    let room = Room::new().unwrap();
    let workflow = json!({
        "id": "w", "initial": "work",
        "states": {
            "work": { "env_overrides": { "NODE_OPTIONS": "--require ./x.js" }, "on": { "DONE": "end" } },
            "end": { "type": "final" },
        },
    });
    room.write(".interlock/workflows/w.json", &workflow.to_string())
        .unwrap();
    let start = || {
        room.command(INTERLOCK)
            .args(["start", "w"])
            .output()
            .unwrap()
    };
    let refused = start();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    for word in ["NODE_OPTIONS", "work", "[trust]"] {
        assert!(complained(&refused).contains(word), "{refused:?}");
    }
    let own = room.config().join("interlock");
    fs::create_dir_all(&own).unwrap();
    let trust = format!("[trust]\nprojects = [{:?}]\n", room.project());
    fs::write(own.join("config.toml"), trust).unwrap();
    assert!(start().status.success());
}

#[test]
fn an_agent_calls_exec_by_no_route() {
    let session = Session::new(&json!({ "allowed_tools": ["Read", "Edit", "Bash"] }));
    let carried = session.carried("t0", "basename one");
    for line in [
        "interlock exec -- ls",
        "interlock exec --as free -- 'touch x'",
        &format!("'{INTERLOCK}' exec --ticket {} -- ls", "0".repeat(32)),
        &format!("timeout 5 '{INTERLOCK}' exec -- ls"),
        // Not even the words made for another call.
        &carried,
    ] {
        let answer = session.hook("t1", "PreToolUse", line, &json!({}));
        let said = &answer["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "deny", "{line}: {answer}");
        let why = said["permissionDecisionReason"].as_str().unwrap();
        assert!(why.starts_with("protected"), "{line}: {why}");
    }
    // The ticket is still valid for its own call.
    assert_eq!(said(&session.shell(&carried).output().unwrap()), "one");
}

#[test]
fn what_a_killed_line_left_ends_with_the_next_line() {
    let session = Session::no_write();
    let carried = session.carried("t1", "sleep 1000 | cat");
    let mut child = session.shell(&format!("exec {carried}")).spawn().unwrap();
    // The level is recorded once the line runs.
    while session.events("LineConfined").is_empty() {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let next = session.carried("t2", "ls");
    assert!(session.shell(&next).status().unwrap().success());
    let runs = || {
        let mark = format!("HOME={}", session.room.home().display());
        fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let of = |file: &str| fs::read(process.path().join(file)).unwrap_or_default();
            let environ = String::from_utf8_lossy(&of("environ")).into_owned();
            of("cmdline").starts_with(b"sleep\x001000") && environ.contains(&mark)
        })
    };
    while runs() {}
    // The killed one has no end, the next one has.
    assert_eq!(session.events("LineEnded").len(), 1);
}
