//! Evidence of substance, by the built program on real files: test reports, and frozen files.

use std::{fs, os::unix::fs::symlink, process::Command as Program};

use interlock_core::command::{Answer, Command, CommandKind};
use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Home, submit};
use serde_json::{Value, json};

use crate::exec_evidence::session::Session;

/// Writes a report of the tests in `tests/list`, each line an outcome and a name, as a test runner would.
const RUNNER: &str = r#"#!/bin/sh
out="${REPORT:-junit.xml}"
failed=0
{
  echo '<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="suite">'
  while read -r outcome name; do
    echo "<testcase classname=\"tests\" name=\"$name\">"
    case $outcome in
      fail) failed=1; echo '<failure message="no"/>' ;;
      skip) echo '<skipped message="later"/>' ;;
    esac
    echo '</testcase>'
  done < tests/list
  echo '</testsuite></testsuites>'
} > "$out"
exit $failed
"#;

const FAILING: &str = "pass one\npass two\nfail three\n";
const FIXED: &str = "pass one\npass two\npass three\n";

fn workflow(evidence: &Value) -> Value {
    json!({
        "id": "w", "initial": "work",
        "guards": { "tested": { "evidence": evidence } },
        "states": {
            "work": {
                "allowed_tools": ["Read", "Edit", "Write", "Bash"],
                "on": {
                    "DONE": { "target": "end", "guard": "tested" },
                    "LOOK": { "target": "work", "requires_approval": true, "approval_message": "look" },
                },
            },
            "end": { "type": "final" },
        },
    })
}

/// Returns a session that requires `pytest` with its report, whose first run has one failing test.
fn session(more: &Value) -> Session {
    let mut evidence = json!({ "command": "pytest", "report": "junit.xml" });
    for (key, value) in more.as_object().unwrap() {
        evidence[key] = value.clone();
    }
    let files = [
        ("tests/list", FAILING),
        ("package.json", "{}"),
        ("a.py", "1"),
    ];
    let session = Session::with_files(&workflow(&evidence), &files);
    session.stand_in("pytest", RUNNER);
    session
}

impl Session {
    /// Lets the agent's editor write a file, as the hook sees it.
    fn edits(&self, path: &str, text: &str) {
        self.calls.set(self.calls.get() + 1);
        let input = json!({
            "tool_name": "Write",
            "tool_input": { "file_path": self.room.file(path), "content": text },
        });
        let answer = self.hook("PreToolUse", "", &input);
        let denied = &answer["hookSpecificOutput"]["permissionDecision"];
        assert_ne!(denied, "deny", "{answer}");
        self.room.write(path, text).unwrap();
        let mut after = input.clone();
        after["tool_response"] = json!({ "filePath": path });
        self.hook("PostToolUse", "", &after);
    }

    fn reads(&self) -> Value {
        self.ended()["checked"]["reports"][0]["read"].clone()
    }

    /// Approves the pending request as a person.
    fn is_approved(&self) {
        let home = Home::at(self.room.state().join("interlock"));
        let mut log = home.open_run(&RunId::new(self.run.as_str())).unwrap();
        let machine = log.machine().unwrap();
        let mut run = log.load().unwrap();
        let command = CommandKind::Approve(Answer {
            by: "Ada".to_owned(),
            ..Answer::default()
        });
        submit(
            &mut log,
            &machine,
            &mut run,
            &Command {
                at_ms: 2,
                kind: command,
            },
        )
        .unwrap();
        assert!(run.approved.is_some());
    }
}

#[test]
fn a_fixed_test_counts_beside_those_of_the_start() {
    let session = session(&json!({ "passed_at_least": "start" }));
    session.run("pytest");
    let first = session.reads();
    assert_eq!(first["tests"]["passed"], 2, "{first}");
    assert!(session.asks("DONE").is_err());
    session.edits("tests/list", FIXED);
    assert!(session.asks("DONE").is_err());
    session.run("pytest 2>&1 | tail -3");
    assert_eq!(session.asks("DONE"), Ok(()), "{}", session.ended());
}

#[test]
fn a_deleted_or_skipped_test_is_missed_by_name() {
    for (text, wanted) in [
        ("pass one\npass two\n", "is gone: `suite > tests > three`"),
        (
            "pass one\npass two\nskip three\n",
            "newly skipped: `suite > tests > three`",
        ),
        ("fail one\npass two\npass three\n", "ended with 1"),
    ] {
        let session = session(&json!({}));
        session.run("pytest");
        session.edits("tests/list", text);
        session.run("pytest");
        let refused = session.asks("DONE").unwrap_err();
        assert!(refused.contains(wanted), "{refused}");
    }
}

/// Each writes a report that its run of the command did not write, or not to its own file.
#[test]
fn a_report_that_the_run_did_not_write_does_not_count() {
    let prepared = |session: &Session| {
        session.edits("tests/list", FIXED);
        session.run("pytest");
        session.edits("tests/list", FIXED);
        fs::rename(
            session.room.path("project/junit.xml"),
            session.room.path("project/old.xml"),
        )
        .unwrap();
    };
    let quiet = "#!/bin/sh\nexit 0\n";
    for (line, runner, wanted) in [
        // The run of the command writes nothing; an existing report is older.
        ("pytest", quiet, "is not there"),
        (
            "cp old.xml junit.xml; pytest",
            quiet,
            "another command of the same line",
        ),
        (
            "cat old.xml > junit.xml; pytest",
            quiet,
            "another command of the same line",
        ),
        (
            "ln -s old.xml junit.xml; pytest",
            quiet,
            "not a regular file",
        ),
        (
            "pytest; cp old.xml junit.xml",
            quiet,
            "another command of the same line",
        ),
        (
            "(while :; do cp old.xml junit.xml; done) & pytest; kill $!",
            quiet,
            "does not count",
        ),
        (
            "pytest",
            "#!/bin/sh\ncp -p old.xml junit.xml\n",
            "was not written by this run",
        ),
        (
            "pytest",
            "#!/bin/sh\nln -s old.xml junit.xml\n",
            "not a regular file",
        ),
        (
            "pytest",
            "#!/bin/sh\ncp old.xml junit.xml; ln junit.xml other.xml\n",
            "not a regular file",
        ),
        (
            "pytest",
            "#!/bin/sh\nmkfifo junit.xml\n",
            "not a regular file",
        ),
        (
            "pytest",
            "#!/bin/sh\nmkdir junit.xml\n",
            "not a regular file",
        ),
        (
            "pytest",
            "#!/bin/sh\nhead -c 20000000 /dev/zero > junit.xml\n",
            "too large",
        ),
        (
            "pytest",
            "#!/bin/sh\nhead -c 200 old.xml > junit.xml\n",
            "is not valid in its format",
        ),
    ] {
        let session = session(&json!({ "none_removed": false, "since": "run_start" }));
        prepared(&session);
        // Old enough that its time shows it.
        let aged = Program::new("touch")
            .args(["-d", "2001-01-01"])
            .arg(session.room.path("project/old.xml"))
            .status();
        assert!(aged.unwrap().success());
        session.stand_in("pytest", runner);
        session.run(line);
        let refused = session.asks("DONE").unwrap_err();
        assert!(refused.contains(wanted), "{line} {runner}: {refused}");
    }
}

#[test]
fn an_edit_of_the_report_is_no_run() {
    let session = session(&json!({ "none_removed": false }));
    session.stand_in("pytest", "#!/bin/sh\nexit 0\n");
    let text = "<testsuites><testsuite name=\"s\"><testcase name=\"a\"/></testsuite></testsuites>";
    session.edits("junit.xml", text);
    session.run("pytest");
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("was not written by this run"), "{refused}");
}

#[test]
fn a_report_behind_a_link_out_of_the_project_is_not_read() {
    let session = session(&json!({ "none_removed": false, "report": "out/junit.xml" }));
    fs::create_dir(session.room.path("elsewhere")).unwrap();
    symlink(
        session.room.path("elsewhere"),
        session.room.path("project/out"),
    )
    .unwrap();
    session.stand_in(
        "pytest",
        &RUNNER.replace("${REPORT:-junit.xml}", "out/junit.xml"),
    );
    session.edits("tests/list", FIXED);
    session.run("pytest");
    let refused = session.asks("DONE").unwrap_err();
    assert!(!refused.is_empty(), "{refused}");
    let read = session.reads();
    assert!(read["tests"].is_null(), "{read}");
}

#[test]
fn of_several_files_those_count_that_the_run_wrote() {
    let session = session(&json!({ "report": "out/TEST-*.xml" }));
    session
        .room
        .write(
            "out/TEST-gone.xml",
            "<testsuite name=\"gone\"><testcase name=\"x\"/></testsuite>",
        )
        .unwrap();
    let two = RUNNER.replace("${REPORT:-junit.xml}", "out/TEST-a.xml").replace(
        "exit $failed",
        "echo '<testsuite name=\"b\"><testcase name=\"y\"/></testsuite>' > out/TEST-b.xml; exit $failed",
    );
    session.stand_in("pytest", &two);
    session.run("pytest");
    assert_eq!(session.reads()["tests"]["passed"], 3);
    session.edits("tests/list", FIXED);
    session.stand_in("pytest", &two.replace("TEST-b.xml", "other.xml"));
    session.run("pytest");
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("`b > y`"), "{refused}");
}

#[test]
fn frozen_files_are_compared_before_the_run_after_it_and_when_asked() {
    let frozen = json!({ "frozen": ["tests/**", "package.json"], "none_removed": false, "since": "run_start" });
    // Changed, and restored by the run itself.
    let one = session(&frozen);
    one.edits("tests/list", FIXED);
    one.stand_in(
        "pytest",
        &RUNNER.replace(
            "exit $failed",
            "printf 'pass one\\npass two\\nfail three\\n' > tests/list",
        ),
    );
    one.run("pytest");
    let refused = one.asks("DONE").unwrap_err();
    assert!(
        refused.contains("`tests/**` were not as they were"),
        "{refused}"
    );
    // Changed by the run.
    let two = session(&frozen);
    two.stand_in(
        "pytest",
        &format!(
            "#!/bin/sh\necho x >> package.json\n{}",
            RUNNER.replace("exit $failed", "")
        ),
    );
    two.edits("a.py", "2");
    two.run("pytest");
    let refused = two.asks("DONE").unwrap_err();
    assert!(refused.contains("`package.json`"), "{refused}");
    // Changed after it.
    let three = session(&frozen);
    three.stand_in(
        "pytest",
        "#!/bin/sh\necho '<testsuite name=\"s\"><testcase name=\"a\"/></testsuite>' > junit.xml\n",
    );
    three.run("pytest");
    three.edits("tests/new", "pass four\n");
    let refused = three.asks("DONE").unwrap_err();
    assert!(
        refused.contains("`tests/new`") && refused.contains("are not as they were"),
        "{refused}"
    );
    assert_eq!(three.events("FrozenCompared").len(), 1);
    fs::remove_file(three.room.path("project/tests/new")).unwrap();
    assert_eq!(three.asks("DONE"), Ok(()));
    assert_eq!(three.events("FrozenCompared").len(), 2);
}

#[test]
fn a_person_who_approves_freezes_files_as_they_are() {
    let session = session(&json!({ "frozen": ["tests/**"] }));
    session.run("pytest");
    session.edits("tests/list", "pass one\nfail four\n");
    session.run("pytest");
    assert_eq!(session.asks("LOOK"), Ok(()));
    session.is_approved();
    session.run("pytest");
    let refused = session.asks("DONE").unwrap_err();
    assert!(refused.contains("ended with 1"), "{refused}");
    session.stand_in("pytest", &RUNNER.replace("fail)", "never)"));
    session.edits("a.py", "2");
    session.run("pytest");
    assert_eq!(session.asks("DONE"), Ok(()), "{}", session.ended());
}

#[test]
fn a_line_that_interlock_did_not_run_is_no_evidence_of_substance() {
    let session = session(&json!({ "none_removed": false }));
    session.room.write("tests/list", FIXED).unwrap();
    session.calls.set(1);
    session.hook("PreToolUse", "pytest", &json!({}));
    let ran = session.room.command("pytest").status().unwrap();
    assert!(ran.success());
    let response = json!({ "tool_response": { "stdout": "", "stderr": "", "interrupted": false } });
    session.hook("PostToolUse", "pytest", &response);
    assert!(session.asks("DONE").is_err());
}

#[test]
fn where_no_guard_asks_nothing_is_read_or_kept() {
    let session = Session::with_files(
        &workflow(&json!({ "command": "pytest" })),
        &[("tests/list", FIXED)],
    );
    session.stand_in("pytest", RUNNER);
    session.run("pytest");
    assert!(session.ended()["checked"].is_null());
    let home = session
        .room
        .state()
        .join("interlock/runs")
        .join(&session.run);
    let names: Vec<String> = fs::read_dir(home)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let ours = |name: &&String| name.starts_with("frozen") || name.starts_with("report");
    assert!(!names.iter().any(|name| ours(&name)), "{names:?}");
    assert_eq!(session.asks("DONE"), Ok(()));
}
