//! Changes of the project that no observed call made: by processes that a line leaves behind, and by others.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use interlock_core::{
    Reply,
    command::{AGENT, Command, CommandKind, TransitionRequest},
    names::RunId,
};
use interlock_store::{EventLog as _, Home, submit};
use interlock_testkit::interlock::Interlock;
use serde_json::{Value, json};

use crate::exec_evidence::{INTERLOCK, complained, session::Session};

/// Returns a workflow with a state that may write, then one that checks.
fn workflow(background: &[&str]) -> Value {
    json!({
        "id": "w", "initial": "work",
        "guards": { "tested": { "evidence": { "command": "npm test" } } },
        "interrupts": {
            "schema": { "trigger": { "file_pattern": "db/*" }, "target": "review" },
        },
        "states": {
            "work": {
                "allowed_tools": ["Read", "Edit", "Write", "Bash"],
                "background": background,
                "on": { "CHECK": "check" },
            },
            "check": {
                "allowed_tools": ["Read", "Bash"], "allowed_commands": ["npm test"],
                "on": { "DONE": { "target": "end", "guard": "tested" }, "AGAIN": "work" },
            },
            "review": { "allowed_tools": ["Read"], "on": { "BACK": "$return" } },
            "end": { "type": "final" },
        },
    })
}

impl Session {
    /// Runs a line as its client would, and does not report its end to the hook.
    pub(crate) fn only_run(&self, line: &str) -> std::process::Output {
        let carried = self.carried(line);
        let mut shell = self.room.command("bash");
        shell.args(["-c", &carried]).output().unwrap()
    }

    /// Requests a transition, as the agent's control server would; returns the reason of a refusal.
    pub(crate) fn asks(&self, event: &str) -> Result<(), String> {
        let home = Home::at(self.room.state().join("interlock"));
        let mut log = home.open_run(&RunId::new(self.run.as_str())).unwrap();
        let machine = log.machine().unwrap();
        let mut run = log.load().unwrap();
        let command = CommandKind::Transition(TransitionRequest {
            event: event.to_owned(),
            data: Default::default(),
            branch: None,
            agent: None,
            by: AGENT.to_owned(),
            approved_by: None,
        });
        let command = Command {
            at_ms: 1,
            kind: command,
        };
        let decision = submit(&mut log, &machine, &mut run, &command).unwrap();
        match decision.reply {
            Reply::Refused(refusal) => Err(refusal.message),
            _ => Ok(()),
        }
    }

    fn state(&self) -> String {
        let status = Interlock::new(INTERLOCK, &self.room)
            .status(&self.run)
            .unwrap();
        status["state"].as_str().unwrap().to_owned()
    }

    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        let mut events = Interlock::new(INTERLOCK, &self.room)
            .events(&self.run)
            .unwrap();
        events.retain(|event| event["event"] == name);
        events
    }

    /// Makes the project a repository that tracks all its files.
    fn track(&self) {
        for words in [&["init", "-q"][..], &["add", "-A"]] {
            let mut git = self.room.command("git");
            assert!(git.args(words).status().unwrap().success(), "{words:?}");
        }
    }
}

fn is_alive(process: &str) -> bool {
    fs::exists(format!("/proc/{}", process.trim())).unwrap()
}

#[test]
fn what_a_line_leaves_behind_ends_with_it() {
    let session = Session::of(&workflow(&[]));
    session.program(
        "stay.sh",
        "#!/bin/sh\necho $$ > left.new; mv left.new left; exec sleep 600\n",
    );
    let until = "until [ -s left ]; do read -t 0.01 < <(:); done";
    for line in [
        format!("./stay.sh > /dev/null 2>&1 & {until}"),
        format!("setsid ./stay.sh > /dev/null 2>&1 & {until}"),
        format!("nohup ./stay.sh > /dev/null 2>&1 & {until}"),
        format!("( ( setsid ./stay.sh > /dev/null 2>&1 & ) & ); {until}"),
        format!("(setsid setsid nohup ./stay.sh > /dev/null 2>&1 & disown); {until}"),
        format!("bash -c 'setsid ./stay.sh > /dev/null 2>&1 & exit 0'; {until}"),
    ] {
        let output = session.only_run(&line);
        let process = session.room.read("left").unwrap_or_default();
        assert!(!process.is_empty(), "{line}: {output:?}");
        assert!(!is_alive(&process), "{line}: {process} goes on");
        assert!(
            complained(&output).contains("`background`"),
            "{line}: {output:?}"
        );
        fs::remove_file(session.room.path("project/left")).unwrap();
    }
}

#[test]
fn what_ends_by_itself_has_a_moment_for_it() {
    let session = Session::of(&workflow(&[]));
    let output = session.only_run("seq 3 > >(cat > copied)");
    assert_eq!(session.room.read("copied").as_deref(), Some("1\n2\n3\n"));
    assert_eq!(complained(&output), "");
}

#[test]
fn background_work_that_the_state_names_goes_on() {
    let session = Session::of(&workflow(&["./serve.sh"]));
    session.program(
        "serve.sh",
        "#!/bin/sh\necho $$ > left.new; mv left.new left; exec sleep 600\n",
    );
    let until = "until [ -s left ]; do read -t 0.01 < <(:); done";
    session.only_run(&format!("./serve.sh > /dev/null 2>&1 & {until}"));
    let process = session.room.read("left").unwrap();
    assert!(is_alive(&process), "{process}");
    let mut kill = session.room.command("kill");
    assert!(
        kill.args(["-9", process.trim()])
            .status()
            .unwrap()
            .success()
    );
    // In addition, an unnamed program does not.
    session.program("other.sh", "#!/bin/sh\nexit 0\n");
    fs::remove_file(session.room.path("project/left")).unwrap();
    session.only_run(&format!(
        "./serve.sh > /dev/null 2>&1 & {until}; ./other.sh"
    ));
    let process = session.room.read("left").unwrap();
    assert!(!is_alive(&process), "{process}");
}

#[test]
fn background_work_ends_with_the_state_that_let_it_write() {
    let session = Session::of(&workflow(&["./serve.sh"]));
    session.program("serve.sh", "#!/bin/sh\necho up; sleep 20; echo late\n");
    for line in ["./serve.sh & exit 3", "(setsid ./serve.sh &); exit 3"] {
        let mut shell = session.room.command("bash");
        let mut child = shell
            .args(["-c", &session.carried(line)])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let mut up = String::new();
        printed.read_line(&mut up).unwrap();
        assert_eq!(up, "up\n", "{line}");
        // The line has ended, and its work continues.
        assert_eq!(child.wait().unwrap().code(), Some(3), "{line}");
        assert_eq!(session.events("LineEnded").last().unwrap()["exit"], 3);
        assert_eq!(session.asks("CHECK"), Ok(()));
        let mut late = String::new();
        printed.read_to_string(&mut late).unwrap();
        assert_eq!(late, "", "{line}");
        assert_eq!(session.asks("AGAIN"), Ok(()));
    }
}

#[test]
fn a_line_that_goes_on_ends_when_nothing_may_write_any_more() {
    let session = Session::of(&workflow(&["./serve.sh"]));
    session.program("serve.sh", "#!/bin/sh\necho ready; exec sleep 600\n");
    for line in ["./serve.sh", "echo ready; sleep 600; echo late > src.js"] {
        let carried = session.carried(line);
        let mut shell = session.room.command("bash");
        let mut child = shell
            .args(["-c", &carried])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        printed.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "{line}");
        assert_eq!(session.asks("CHECK"), Ok(()));
        let output = child.wait_with_output().unwrap();
        assert!(
            complained(&output).contains("has left the state"),
            "{line}: {output:?}"
        );
        assert!(session.room.read("src.js").is_none());
        assert_eq!(session.asks("AGAIN"), Ok(()));
    }
}

#[test]
fn a_line_that_begins_when_nothing_may_write_any_more_is_ended() {
    let session = Session::of(&workflow(&[]));
    let carried = session.carried("sleep 20; echo late > src.js");
    assert_eq!(session.asks("CHECK"), Ok(()));
    let mut shell = session.room.command("bash");
    let output = shell.args(["-c", &carried]).output().unwrap();
    assert!(
        complained(&output).contains("has left the state"),
        "{output:?}"
    );
    assert!(session.room.read("src.js").is_none());
}

#[test]
fn a_change_that_nobody_saw_makes_evidence_stale() {
    let session = Session::of(&workflow(&[]));
    session.room.write("src/app.js", "1").unwrap();
    session.room.write(".gitignore", "dist\n").unwrap();
    session.track();
    assert_eq!(session.asks("CHECK"), Ok(()));
    session.run("npm test | cat");
    // Untracked files were not part of what was tested.
    session.room.write("dist/app.js", "built").unwrap();
    session.room.write("report.xml", "built").unwrap();
    session.room.write("src/app.js", "2").unwrap();
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("since the last edit"), "{refused}");
    let found = session.events("FilesChanged");
    assert_eq!(found[0]["files"], json!(["src/app.js"]), "{found:?}");
    assert!(session.asks("DONE").is_err());
    session.run("npm test");
    session.room.write("dist/app.js", "built again").unwrap();
    assert_eq!(session.asks("DONE"), Ok(()));
}

#[test]
fn a_change_before_a_check_begins_makes_only_older_evidence_stale() {
    let mut workflow = workflow(&[]);
    workflow["guards"]["linted"] = json!({ "evidence": { "command": "cargo test" } });
    workflow["states"]["check"]["allowed_commands"] = json!(["npm test", "cargo test"]);
    workflow["states"]["check"]["on"]["DONE"] =
        json!({ "target": "end", "guards": ["tested", "linted"] });
    let session = Session::of(&workflow);
    session.room.write("src/app.js", "1").unwrap();
    session.track();
    assert_eq!(session.asks("CHECK"), Ok(()));
    session.run("npm test");
    session.room.write("src/app.js", "2").unwrap();
    session.run("cargo test");
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("`npm test`"), "{refused}");
    session.run("npm test");
    assert_eq!(session.asks("DONE"), Ok(()));
}

#[test]
fn where_nothing_is_tracked_every_file_that_no_build_makes_counts() {
    let session = Session::of(&workflow(&[]));
    assert_eq!(session.asks("CHECK"), Ok(()));
    session.run("npm test");
    session.room.write("node_modules/x/a.js", "x").unwrap();
    session.room.write("src/new.js", "x").unwrap();
    assert!(session.asks("DONE").is_err());
    session.run("npm test");
    session.room.write("node_modules/x/a.js", "y").unwrap();
    assert_eq!(session.asks("DONE"), Ok(()));
}

#[test]
fn a_result_that_is_lost_or_lies_changes_nothing_of_what_was_seen() {
    let session = Session::of(&workflow(&[]));
    assert_eq!(session.asks("CHECK"), Ok(()));
    session.run("npm test");
    // It fails, and its client never reports it.
    session.stand_in("npm", "#!/bin/sh\nexit 1\n");
    session.only_run("npm test");
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("ended with 1"), "{refused}");
    // It succeeds, and its client reports a failure.
    session.stand_in("npm", "#!/bin/sh\nexit 0\n");
    let carried = session.carried("npm test");
    let mut shell = session.room.command("bash");
    shell.args(["-c", &carried]).output().unwrap();
    session.hook(
        "PostToolUseFailure",
        &carried,
        &json!({ "error": "Exit code 1" }),
    );
    assert_eq!(session.asks("DONE"), Ok(()));
}

#[test]
fn an_end_is_told_where_what_stands_then_cannot_be_kept() {
    let session = Session::new();
    session.track();
    let ran = session.run("npm test");
    assert!(ran.counts);
    let kept = session
        .room
        .state()
        .join("interlock/runs")
        .join(&session.run)
        .join("checked.json");
    fs::remove_file(&kept).unwrap();
    // A record cannot replace a directory.
    fs::create_dir_all(kept.join("x")).unwrap();
    let ran = session.run("npm test");
    assert!(!ran.counts);
    let ended = session.events("LineEnded");
    assert_eq!(ended.len(), 2);
    assert_eq!(ended[1]["exit"], Value::Null);
}

#[test]
fn a_newer_call_that_was_never_run_suspends_older_success() {
    let session = Session::of(&workflow(&[]));
    assert_eq!(session.asks("CHECK"), Ok(()));
    session.run("npm test");
    session.carried("npm test");
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("a newer call"), "{refused}");
    session.run("npm test");
    assert_eq!(session.asks("DONE"), Ok(()));
}

#[test]
fn what_a_line_wrote_raises_its_interrupt_without_a_result() {
    let session = Session::of(&workflow(&[]));
    session.program(
        "write.sh",
        "#!/bin/sh\nmkdir -p db; echo x > db/a; exit 3\n",
    );
    let carried = session.carried("./write.sh");
    let mut shell = session.room.command("bash");
    let output = shell.args(["-c", &carried]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(
        session.events("LineEnded")[0]["wrote"][0]["relative"],
        "db/a"
    );
    assert_eq!(session.state(), "review");
    // The agent is told when its client's report arrives.
    let failed = json!({ "error": "Exit code 3" });
    let answer = session.hook("PostToolUseFailure", &carried, &failed);
    assert!(
        answer.to_string().contains("moved from `work` to `review`"),
        "{answer}"
    );
}

#[test]
fn every_tracked_file_that_a_program_writes_counts() {
    let mut workflow = workflow(&[]);
    workflow["states"]["work"]["max_files_per_state"] = json!(2);
    let session = Session::of(&workflow);
    for file in ["src/a.js", "src/b.js", "src/c.js"] {
        session.room.write(file, "1").unwrap();
    }
    session.program(
        "build.sh",
        "#!/bin/sh\nmkdir -p dist; echo x > dist/a; echo x > dist/b\n",
    );
    session.program(
        "write.sh",
        "#!/bin/sh\necho 2 > src/a.js; echo 2 > src/b.js\n",
    );
    session.track();
    let write = |file: &str| {
        let more = json!({
            "tool_name": "Write", "tool_use_id": file,
            "tool_input": { "file_path": session.room.file(file), "content": "x" },
        });
        session.hook("PreToolUse", "", &more).to_string()
    };
    session.run("./build.sh");
    session.run("./write.sh");
    let wrote = &session.events("LineEnded")[1]["wrote"];
    assert_eq!(wrote[0]["relative"], "src/a.js", "{wrote}");
    let passed = write("src/b.js");
    assert!(!passed.contains("deny"), "{passed}");
    let refused = write("src/c.js");
    assert!(refused.contains("too_many_files"), "{refused}");
}

#[test]
fn an_edit_that_lands_after_the_tests_makes_them_stale() {
    let session = Session::held_to(&["Read", "Edit", "Write", "Bash"], "npm test");
    let write = |event: &str, id: &str| {
        let more = json!({
            "tool_name": "Write", "tool_use_id": id, "agent_id": "sub",
            "tool_input": { "file_path": session.room.file("a.js"), "content": "x" },
            "tool_response": { "type": "create" },
        });
        session.hook(event, "", &more)
    };
    write("PreToolUse", "w1");
    session.run("npm test");
    assert!(session.asks("DONE").is_err(), "it is open");
    write("PostToolUse", "w1");
    assert!(session.asks("DONE").is_err(), "it has landed after them");
    session.run("npm test");
    assert_eq!(session.asks("DONE"), Ok(()));
}
