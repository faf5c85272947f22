//! A project with trusted keys on its main branch, and an agent that works on another branch under a run.

use std::{
    path::PathBuf,
    process::{Output, Stdio},
};

use interlock_testkit::{interlock::Interlock, room::Room, room::expect_success, terminal};
use serde_json::{Value, json};

pub(crate) const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// The requirements of the merge.
pub(crate) const REQUIRED: &str = "tests_passed,approved,completed";
pub(crate) const FLOW: &str = "id: flow
initial: work
states:
  work:
    allowed_tools: [Read, Edit, Write, Bash]
    on: {CHECK: check}
  check:
    allowed_tools: [Read, Bash]
    allowed_commands: [npm test]
    on:
      DONE: {target: done, guard: tests_passed, requires_approval: true, approval_message: Ship it?}
  done: {type: final}
guards:
  tests_passed: {evidence: {command: npm test}}
";
const SESSION: &str = "7a1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21";

pub(crate) struct Scene {
    pub(crate) room: Room,
    pub(crate) run: String,
    pub(crate) token: String,
    /// The person's public key.
    pub(crate) public: PathBuf,
    /// The attestation.
    pub(crate) file: PathBuf,
    calls: std::cell::Cell<usize>,
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

impl Scene {
    /// Returns a scene with a run that has begun, on its own branch.
    pub(crate) fn begun() -> Self {
        Self::under(FLOW)
    }

    /// Returns a scene with a run in which the tests passed and a person approved, and a commit with its work.
    pub(crate) fn worked() -> Self {
        let scene = Self::begun();
        scene.work();
        scene.finish();
        scene.commit_all("work");
        scene
    }

    /// Returns a scene with a run of a workflow from the branch, while the main branch has [`FLOW`].
    pub(crate) fn under(workflow: &str) -> Self {
        let room = Room::new_in_no_temporary(&std::env::temp_dir()).unwrap();
        room.script("bin/npm", "exit \"${CODE:-0}\"").unwrap();
        let interlock = Interlock::new(INTERLOCK, &room);
        let made = terminal::output(room.command(INTERLOCK).args(["attest", "keygen"])).unwrap();
        expect_success("attest keygen", &made).unwrap();
        let public = room.path("ana.pub");
        std::fs::write(&public, &made.stdout).unwrap();
        for (path, text) in [
            (".interlock/workflows/flow.yaml", FLOW),
            (".interlock/attest.pub", &*out(&made)),
            ("src/a.txt", "one\n"),
            ("src/b.txt", "one\n"),
        ] {
            room.write(path, text).unwrap();
        }
        let mut scene = Self {
            token: interlock.token().unwrap(),
            file: room.path("run.att"),
            run: String::new(),
            calls: Default::default(),
            public,
            room,
        };
        scene.git(&["checkout", "-q", "-B", "main"]);
        scene.commit_all("first");
        scene.git(&["checkout", "-q", "-b", "branch"]);
        if workflow != FLOW {
            scene
                .room
                .write(".interlock/workflows/flow.yaml", workflow)
                .unwrap();
            scene.commit_all("another workflow");
        }
        let interlock = Interlock::new(INTERLOCK, &scene.room);
        let run = interlock.start_for_session("flow", SESSION);
        scene.run = run.unwrap();
        scene
    }

    /// Lets the agent edit a file and run its tests successfully.
    pub(crate) fn work(&self) {
        self.edit("two");
        self.send("CHECK");
        self.bash("npm test", 0);
    }

    /// Lets the agent request the end, and the person approve it.
    pub(crate) fn finish(&self) {
        self.send("DONE");
        let approved = self.person(&["approve", &self.run, "--json"]);
        expect_success("approve", &approved).unwrap();
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        let mut git = self.room.command("git");
        for (name, value) in [("NAME", "ana"), ("EMAIL", "ana@example.test")] {
            git.env(format!("GIT_AUTHOR_{name}"), value);
            git.env(format!("GIT_COMMITTER_{name}"), value);
        }
        let output = git.args(words).output().unwrap();
        expect_success(&format!("git {}", words.join(" ")), &output).unwrap();
        out(&output).trim().to_owned()
    }

    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Returns the checked-out commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs the program as the person's own scripts do.
    pub(crate) fn person(&self, words: &[&str]) -> Output {
        let mut command = self.room.command(INTERLOCK);
        command
            .args(words)
            .env("INTERLOCK_TOKEN", &self.token)
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    pub(crate) fn send(&self, event: &str) {
        let sent = self.person(&["send", event, "--run", &self.run, "--json"]);
        expect_success(event, &sent).unwrap();
    }

    /// Tries to attest the run.
    pub(crate) fn try_attest(&self, words: &[&str]) -> Output {
        let file = self.file.to_str().unwrap();
        self.person(&[&["attest", &self.run, "-o", file], words].concat())
    }

    #[track_caller]
    pub(crate) fn attest(&self, words: &[&str]) -> Output {
        let made = self.try_attest(words);
        assert!(made.status.success(), "{made:?}");
        made
    }

    /// Checks that the run is not attested, and returns the reason.
    #[track_caller]
    pub(crate) fn not_attested(&self, words: &[&str]) -> String {
        let made = self.try_attest(words);
        assert!(!made.status.success(), "{made:?}");
        assert!(!self.file.exists(), "{made:?}");
        err(&made)
    }

    /// Verifies the attestation for the checked-out commit.
    pub(crate) fn verify(&self, words: &[&str]) -> Output {
        let (file, commit) = (self.file.to_str().unwrap(), self.commit());
        let mut command = self.room.command(INTERLOCK);
        command
            .args(["verify", file, "--commit", &commit])
            .args(words);
        command.stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn verified(&self, words: &[&str]) -> String {
        let found = self.verify(words);
        assert!(found.status.success(), "{found:?}");
        out(&found)
    }

    /// Checks that the verification fails with a code; returns the messages.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str], code: &str) -> String {
        let found = self.verify(&[words, &["--json"]].concat());
        assert_eq!(found.status.code(), Some(1), "{found:?}");
        let said: Value = serde_json::from_slice(&found.stdout).unwrap();
        assert_eq!(said["code"], code, "{said}");
        said["message"].as_str().unwrap().to_owned()
    }

    /// Reports a call to the hook; returns its answer.
    pub(crate) fn hook(&self, event: &str, tool: &str, input: &Value) -> Value {
        let told = json!({
            "session_id": SESSION, "cwd": self.room.project(), "hook_event_name": event,
            "permission_mode": "bypassPermissions", "tool_name": tool, "tool_input": input,
            "tool_use_id": format!("t{}", self.calls.get()),
            "tool_response": {"stdout": "", "stderr": "", "interrupted": false},
        });
        let child = Interlock::new(INTERLOCK, &self.room).hook(&told).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the hook's verdict on a call that the agent proposes.
    pub(crate) fn proposes(&self, tool: &str, input: &Value) -> Value {
        self.calls.set(self.calls.get() + 1);
        self.hook("PreToolUse", tool, input)["hookSpecificOutput"].clone()
    }

    /// Lets the agent write `src/a.txt`.
    pub(crate) fn edit(&self, text: &str) {
        let input = json!({"file_path": self.room.file("src/a.txt"), "content": text});
        let said = self.proposes("Write", &input);
        assert_ne!(said["permissionDecision"], "deny", "{said}");
        self.room.write("src/a.txt", text).unwrap();
        self.hook("PostToolUse", "Write", &input);
    }

    /// Lets the agent run a line as its client would, ending with this exit code.
    pub(crate) fn bash(&self, line: &str, code: i32) {
        let said = self.proposes("Bash", &json!({ "command": line }));
        assert_eq!(said["permissionDecision"], "allow", "{said}");
        let carried = said["updatedInput"]["command"].as_str().unwrap();
        let mut shell = self.room.command("bash");
        shell.args(["-c", carried]).env("CODE", code.to_string());
        let ended = shell.output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        let event = match code {
            0 => "PostToolUse",
            _ => "PostToolUseFailure",
        };
        self.hook(event, "Bash", &said["updatedInput"]);
    }
}
