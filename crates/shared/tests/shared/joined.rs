//! Two machines with real hooks in one run that a server decides.

use std::{
    fs,
    io::Write as _,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use interlock_shared::Role;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{api::Fleet, server::ROLE};

/// Returns the built `interlock`, which is beside the program of this crate; `None` if it is not built.
pub(crate) fn interlock() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_interlock-shared"));
    let program = own.with_file_name("interlock");
    if program.is_file() {
        return Some(program);
    }
    assert!(std::env::var_os("CI").is_none(), "`interlock` is not built");
    println!("left out: `interlock` is not built");
    None
}

/// A machine with its own home and its own copy of the project.
pub(crate) struct Machine {
    pub(crate) room: TempDir,
    pub(crate) program: PathBuf,
}

/// A hook's answer: whether the call may run, and why not.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Allowed,
    Denied(String),
}

impl Machine {
    pub(crate) fn new(program: &Path) -> Self {
        let room = TempDir::new().unwrap();
        fs::create_dir_all(room.path().join("home")).unwrap();
        fs::create_dir_all(room.path().join("shop/.git")).unwrap();
        fs::write(room.path().join("shop/a.txt"), "one\n").unwrap();
        Self {
            room,
            program: program.to_owned(),
        }
    }

    fn shop(&self) -> PathBuf {
        self.room.path().join("shop").canonicalize().unwrap()
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let home = self.room.path().join("home");
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .current_dir(self.shop());
        command
    }

    /// Joins the run; returns standard error if that is refused.
    pub(crate) fn join(&self, run: &str, server: &str, token: &str) -> Result<(), String> {
        let file = self.room.path().join("token");
        fs::write(&file, format!("{token}\n")).unwrap();
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_interlock-shared")));
        command.args(["join", run, "--server", server, "--token-file"]);
        let output = command.arg(file).output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8(output.stderr).unwrap())
    }

    /// Lists the runs of the project, of which there is one.
    fn listed(&self) -> Value {
        let mut command = self.command(&self.program);
        let output = command.args(["runs", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn hook(&self, input: &Value) -> String {
        let mut command = self.command(&self.program);
        command.args(["hook", "claude-code"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut hook = command.spawn().unwrap();
        let mut to = hook.stdin.take().unwrap();
        to.write_all(input.to_string().as_bytes()).unwrap();
        drop(to);
        let output = hook.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        if output.status.code() == Some(2) {
            return format!("stopped: {}", String::from_utf8_lossy(&output.stderr));
        }
        text
    }

    pub(crate) fn event(&self, name: &str, more: Value) -> Value {
        let mut input = json!({
            "session_id": "5f1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21", "cwd": self.shop(),
            "transcript_path": self.room.path().join("t.jsonl"),
            "permission_mode": "default", "hook_event_name": name,
        });
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        input
    }

    /// Has a call judged by the hook.
    pub(crate) fn judge(&self, id: &str, tool: &str, input: &Value) -> Answer {
        let said = self.hook(&self.event(
            "PreToolUse",
            json!({ "tool_name": tool, "tool_use_id": id, "tool_input": input }),
        ));
        if said.starts_with("stopped: ") {
            return Answer::Denied(said);
        }
        let document: Value = serde_json::from_str(&said).unwrap_or(Value::Null);
        let verdict = &document["hookSpecificOutput"];
        assert_ne!(verdict["permissionDecision"], "ask", "{said}");
        match verdict["permissionDecision"].as_str() {
            Some("deny") => Answer::Denied(
                verdict["permissionDecisionReason"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            ),
            _ => Answer::Allowed,
        }
    }

    pub(crate) fn read(&self, id: &str) -> Answer {
        self.judge(
            id,
            "Read",
            &json!({ "file_path": self.shop().join("a.txt") }),
        )
    }

    fn edit(&self, id: &str) -> Answer {
        let input = json!({ "file_path": self.shop().join("a.txt"), "old_string": "one", "new_string": "two" });
        self.judge(id, "Edit", &input)
    }
}

const WORKFLOW: &str = "id: pair
initial: looking
states:
  looking:
    allowed_tools: [Read]
    max_iterations: 3
    on:
      GO: {target: changing, requires_approval: true}
  changing:
    allowed_tools: [Read, Edit]
    on_denied: ask
    on: {DONE: done}
  done: {type: final}
";

#[test]
fn hooks_of_two_machines_are_decided_by_the_server() {
    let (Some(mut fleet), Some(program)) = (Fleet::new(), interlock()) else {
        return;
    };
    let server = format!("http://{}", fleet.served.address());
    let (ana, cy) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "cy"),
    );
    let tokens = [
        fleet.token(Role::Agent, "ana"),
        fleet.token(Role::Agent, "ben"),
    ];
    let body = json!({ "workflow": { "name": "pair.yaml", "text": WORKFLOW } });
    let started = fleet.served.post(&ana, "/v1/runs", "s", &body).json();
    let run = started["run"].as_str().unwrap().to_owned();
    let machines = [Machine::new(&program), Machine::new(&program)];
    for (machine, token) in machines.iter().zip(&tokens) {
        machine.join(&run, &server, token).unwrap();
        let said = machine.hook(&machine.event("SessionStart", json!({ "source": "startup" })));
        assert!(said.contains("looking"), "{said}");
    }
    let [first, second] = &machines;
    assert_eq!(first.read("r1"), Answer::Allowed);
    assert_eq!(second.read("r2"), Answer::Allowed);
    let Answer::Denied(why) = second.edit("e1") else {
        panic!("an edit in `looking`");
    };
    assert!(why.contains("tool_not_allowed"), "{why}");
    assert_eq!(first.read("r3"), Answer::Allowed);
    // The three calls are those of both.
    let Answer::Denied(why) = second.read("r4") else {
        panic!("a fourth call");
    };
    assert!(why.contains("iteration_limit"), "{why}");
    // Each log has the paths of no machine.
    let events = fleet
        .served
        .get(&ana, &format!("/v1/runs/{run}/events"))
        .text;
    for machine in &machines {
        assert!(
            !events.contains(machine.shop().to_str().unwrap()),
            "{events}"
        );
    }
    let go = json!({ "transition": { "event": "GO" } });
    let asked = fleet.served.decide(&tokens[0], &run, "go", go);
    let Answer::Denied(why) = second.read("r5") else {
        panic!("a call while a person is asked");
    };
    assert!(why.contains("awaiting_approval"), "{why}");
    let yes = fleet
        .served
        .answer(&cy, &run, &asked["request"], &asked["seq"]);
    assert_eq!(yes.json()["verdict"], json!("accepted"));
    assert_eq!(second.edit("e2"), Answer::Allowed);
    // A call that needs a grant is never asked about in the prompt of the machine's own person.
    let Answer::Denied(why) = first.judge(
        "w1",
        "WebFetch",
        &json!({ "url": "https://example.org", "prompt": "x" }),
    ) else {
        panic!("a call that needs a grant");
    };
    assert!(why.contains("at the server of the run"), "{why}");
    let count = fleet.verified(&run);

    // Without the server nothing is allowed, whatever was allowed before.
    fleet.served.kill();
    let Answer::Denied(why) = first.read("r6") else {
        panic!("a call without the server");
    };
    assert!(why.contains("store_unreachable"), "{why}");
    let state = first.room.path().join("home/state/interlock");
    let secret = tokens[0].rsplit('.').next().unwrap();
    assert!(!why.contains(secret), "{why}");
    assert_eq!(fleet.verified(&run), count);
    let listed = first.listed();
    assert_eq!(listed["status"], "unreachable", "{listed}");
    assert!(
        listed["message"]
            .as_str()
            .unwrap()
            .contains("store_unreachable"),
        "{listed}"
    );
    // An agent may not read the token on its machine; that is refused before the server is asked.
    let joined = state.join(format!("runs/{run}/joined.json"));
    assert!(fs::read_to_string(&joined).unwrap().contains(secret));
    let words = fleet.server.words(&fleet.name, ROLE);
    fleet.served = crate::api::Served::start(&words);
    let moved = format!("http://{}", fleet.served.address());
    first.join(&run, &moved, &tokens[0]).unwrap();
    let Answer::Denied(why) = first.judge("t1", "Read", &json!({ "file_path": joined })) else {
        panic!("the token was read");
    };
    assert!(why.contains("protected"), "{why}");
    assert_eq!(first.read("r7"), Answer::Allowed);
}

#[test]
fn a_run_is_joined_only_if_the_server_knows_it_and_is_safe() {
    let (Some(fleet), Some(program)) = (Fleet::new(), interlock()) else {
        return;
    };
    let machine = Machine::new(&program);
    let server = format!("http://{}", fleet.served.address());
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let run = fleet.served.run(&ana);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    for (run, server, token, word) in [
        ("01k00000000000000000000000", &*server, &*agent, "not_found"),
        (&run, &server, "ils_x", "unauthorized"),
        (&run, &closed, &agent, "store_unreachable"),
        (&run, "http://fleet.example", &agent, "in the clear"),
        (
            &run,
            "https://a:b@fleet.example",
            &agent,
            "without anything else",
        ),
        ("../../x", &server, &agent, "not the id of a run"),
    ] {
        let said = machine.join(run, server, token).unwrap_err();
        assert!(said.contains(word), "{server}: {said}");
        assert!(!said.contains(&agent), "{said}");
    }
    assert!(
        !machine
            .room
            .path()
            .join("home/state/interlock/runs")
            .exists()
    );
    assert_eq!(machine.read("r1"), Answer::Allowed, "nothing guards it");
}
