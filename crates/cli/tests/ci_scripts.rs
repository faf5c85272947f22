//! The scripts in `ci/`, as a CI service starts them: annotations, summaries, reports and exit codes.
#![cfg(unix)]

mod github;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use github::{GitHub, TOKEN, comment};
use interlock_core::substance::ReportFormat;
use interlock_facts::read_report;
use interlock_testkit::{interlock::Interlock, room::Room};
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const SOUND: &str = "id: flow
initial: look
states:
  look:
    allowed_tools: [Read]
    on: {DONE: done, SHIP: {target: done, requires_approval: true, approval_message: Ship it?}}
  done: {type: final}
";

const CASES: &str = "workflow: flow.yaml
cases:
  - name: writing is refused
    steps:
      - {tool: Edit, input: {file_path: a}, expect: {verdict: deny}}
";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Returns a project with these workflows.
fn project(files: &[(&str, &str)]) -> Room {
    let room = Room::new().unwrap();
    room.install("interlock", INTERLOCK.as_ref()).unwrap();
    for (name, text) in files {
        room.write(&format!(".interlock/workflows/{name}"), text)
            .unwrap();
    }
    room
}

/// Starts a script like a step of GitHub Actions.
fn start(room: &Room, script: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command: Command = room.command("sh");
    command
        .arg(repository().join("ci").join(script))
        .args(arguments)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", room.path("summary.md"))
        .env("INTERLOCK_REPORTS", room.path("reports"))
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command.output().unwrap()
}

fn verify(room: &Room, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = start(room, "verify.sh", &[], variables);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

fn summary(room: &Room) -> String {
    fs::read_to_string(room.path("summary.md")).unwrap()
}

fn report(room: &Room, name: &str) -> Vec<u8> {
    fs::read(room.path("reports").join(name)).unwrap()
}

#[test]
fn workflows_in_order_pass_every_step() {
    let room = project(&[("flow.yaml", SOUND), ("flow.test.yaml", CASES)]);
    assert_eq!(verify(&room, &[]), (Some(0), String::new()));
    let said = summary(&room);
    for row in [
        "| check | .interlock/workflows/flow.yaml | in order |",
        "| test | .interlock/workflows/flow.test.yaml | in order |",
        "| prove | .interlock/workflows/flow.yaml | holds |",
    ] {
        assert!(said.contains(row), "{said}");
    }
    let tested = read_report(ReportFormat::Junit, &[report(&room, "test.junit.xml")]).unwrap();
    assert_eq!(tested.counts(None).passed, 1);
    let checked: Value = serde_json::from_slice(&report(&room, "check.sarif")).unwrap();
    assert_eq!(checked["version"], "2.1.0");
}

#[test]
fn what_fails_is_annotated_and_fails_the_job() {
    let broken = SOUND.replace("DONE: done", "DONE: nowhere");
    let room = project(&[("flow.yaml", &broken)]);
    let (code, said) = verify(&room, &[("INTERLOCK_STEPS", "check")]);
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("::error file=.interlock/workflows/flow.yaml,line=6,"),
        "{said}"
    );
    assert!(summary(&room).contains("| check | .interlock/workflows/flow.yaml | **failed** |"));
}

#[test]
fn a_property_that_fails_fails_the_job() {
    let promise = "properties:\n  - name: nothing is done unseen\n    never: {enter: done}\n";
    let room = project(&[("flow.yaml", &format!("{SOUND}{promise}"))]);
    let (code, said) = verify(&room, &[("INTERLOCK_STEPS", "prove")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("title=property_fails::"), "{said}");
    assert!(summary(&room).contains("| **fails** |"));
}

#[test]
fn warnings_and_undecided_properties_fail_where_that_is_wanted() {
    let doubtful = SOUND.replace("    allowed_tools: [Read]\n", "");
    let steps = "name: steps\nstart-at: a\nstates:\n  a: {tool: bash, arguments: {command: ls}}\n";
    let room = project(&[("flow.yaml", &doubtful), ("steps.yaml", steps)]);
    assert_eq!(
        verify(&room, &[("INTERLOCK_STEPS", "check prove")]).0,
        Some(0)
    );
    for step in ["check", "prove"] {
        let strict = [("INTERLOCK_STEPS", step), ("INTERLOCK_STRICT", "true")];
        assert_eq!(verify(&room, &strict).0, Some(1), "{step}");
    }
}

#[test]
fn a_name_of_a_file_writes_nothing_of_its_own_into_the_summary() {
    let name = "a|b`<img src=x>](http:.yaml";
    let room = project(&[(name, SOUND)]);
    let (code, _) = verify(&room, &[("INTERLOCK_STEPS", "check")]);
    assert_eq!(code, Some(0));
    let said = summary(&room);
    let row = said
        .lines()
        .find(|line| line.starts_with("| check"))
        .unwrap();
    assert_eq!(row.matches('|').count(), 4, "{row}");
    assert!(!row.contains(['<', '`', '[', ']']), "{row}");
}

#[test]
fn a_step_that_is_not_there_is_no_success() {
    let room = project(&[("flow.yaml", SOUND)]);
    assert_eq!(verify(&room, &[("INTERLOCK_STEPS", "chekc")]).0, Some(2));
    let nowhere = [("INTERLOCK_PATHS", "nowhere.yaml")];
    assert_eq!(verify(&room, &nowhere).0, Some(2));
}

/// Runs the scripted agent under the workflow, and returns the exit code of the script.
fn guard(room: &Room, arguments: &[&str], variables: &[(&str, &str)]) -> Option<i32> {
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ci_scripts/agent.mjs");
    let agent = agent.to_string_lossy().into_owned();
    let command = [&["node", agent.as_str()], arguments].concat();
    let wanted = [
        ("INTERLOCK_WORKFLOW", "flow"),
        ("INTERLOCK_CLIENT", "claude-code"),
        // The client here is our own script: no `claude` is on the PATH.
        ("INTERLOCK_DOCTOR", "false"),
    ];
    let output = start(room, "guard.sh", &command, &[&wanted, variables].concat());
    output.status.code()
}

#[test]
fn an_agent_is_held_and_its_run_is_kept() {
    let room = project(&[("flow.yaml", SOUND)]);
    assert_eq!(guard(&room, &["DONE"], &[]), Some(0));
    let said = summary(&room);
    assert!(said.contains("| completed | 0 | verified |"), "{said}");
    assert!(said.contains("```mermaid\n---\ntitle: \"flow\""), "{said}");
    assert!(said.contains("tool_not_allowed"), "{said}");
    let log = String::from_utf8(report(&room, "run.jsonl")).unwrap();
    assert!(log.contains("\"RunCompleted\""), "{log}");
    assert!(report(&room, "run.svg").starts_with(b"<svg"));
    assert!(report(&room, "run.html").starts_with(b"<!"));
}

#[test]
fn the_exit_code_says_how_the_run_ended() {
    for (arguments, code) in [(&["-"][..], 1), (&["SHIP"], 75), (&["DONE", "7"], 7)] {
        let room = project(&[("flow.yaml", SOUND)]);
        assert_eq!(guard(&room, arguments, &[]), Some(code), "{arguments:?}");
    }
}

#[test]
fn no_agent_is_started_with_the_token_or_without_hooks_that_hold() {
    let room = project(&[("flow.yaml", SOUND)]);
    assert_eq!(
        guard(&room, &["DONE"], &[("INTERLOCK_TOKEN", "ilk_1")]),
        Some(2)
    );
    assert!(!room.path("reports").exists());
    let unknown = [("INTERLOCK_CLIENT", "nobody")];
    assert_eq!(guard(&room, &["DONE"], &unknown), Some(2));
    let missing = [("INTERLOCK_WORKFLOW", "nowhere")];
    assert_eq!(guard(&room, &["DONE"], &missing), Some(2));
    assert!(!room.path("reports").exists(), "no agent was started");
}

/// Answers by a comment, as a job for comments does; returns the exit code of the script.
fn approve(room: &Room, token: &str, author: &str, comment: &str) -> Option<i32> {
    let variables = [
        ("INTERLOCK_TOKEN", token),
        ("INTERLOCK_AUTHOR", author),
        ("INTERLOCK_APPROVERS", "ana\nbo"),
        ("INTERLOCK_COMMENT", comment),
    ];
    start(room, "approve.sh", &[], &variables).status.code()
}

fn status(room: &Room) -> Value {
    let mut status = room.command(INTERLOCK);
    let output = status.args(["status", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn only_a_comment_of_an_approver_answers_and_only_the_request_that_it_names() {
    let room = project(&[("flow.yaml", SOUND)]);
    let token = Interlock::new(INTERLOCK, &room).token().unwrap();
    assert_eq!(guard(&room, &["SHIP"], &[]), Some(75));
    let waiting = status(&room);
    let run = waiting["run"].as_str().unwrap();
    let id = waiting["pending"][0]["id"].as_str().unwrap();
    let yes = format!("/interlock approve {run} {id}");
    let refused = [
        ("eve", yes.clone()),
        ("an", yes.clone()),
        ("", yes.clone()),
        ("ana\nbo", yes.clone()),
        ("ana", format!("> {yes}")),
        ("ana", format!("please\n{yes}")),
        ("ana", format!("{yes} --data {{}}")),
        ("ana", format!("/interlock approve {run} look")),
        ("ana", format!("/interlock cancel {run} {id}")),
        ("ana", format!("/interlock approve $(touch${{IFS}}x) {id}")),
        ("ana", String::new()),
    ];
    for (author, comment) in refused {
        assert_eq!(
            approve(&room, &token, author, &comment),
            Some(2),
            "{author}: {comment}"
        );
    }
    assert_eq!(approve(&room, "", "ana", &yes), Some(2));
    assert_eq!(status(&room)["pending"], waiting["pending"]);
    let said = format!("{yes}\r\nLooks good.");
    assert_eq!(approve(&room, &token, "bo", &said), Some(0));
    assert_eq!(status(&room)["status"], "completed");
}

/// A session of Claude Code in which a file was written.
const SESSION: &str = r#"{"type":"assistant","sessionId":"s1","cwd":"/project","version":"2.1.332","timestamp":"2026-11-01T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/project/a.txt","content":"x"}}]}}
{"type":"user","sessionId":"s1","cwd":"/project","version":"2.1.332","timestamp":"2026-11-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]},"toolUseResult":{"type":"create"}}
"#;

#[test]
fn workflows_are_held_against_recorded_sessions() {
    let room = project(&[("flow.yaml", SOUND)]);
    room.write("recorded/s1.jsonl", SESSION).unwrap();
    let steps = ("INTERLOCK_STEPS", "backtest");
    let sessions = ("INTERLOCK_SESSIONS", "recorded");
    let (code, said) = verify(&room, &[steps, sessions]);
    assert_eq!(code, Some(0), "{said}");
    let row = "| backtest | .interlock/workflows/flow.yaml | refuses calls |";
    assert!(summary(&room).contains(row), "{}", summary(&room));
    let told: Value = serde_json::from_slice(&report(&room, "backtest-1.json")).unwrap();
    assert_eq!(told["sessions"][0]["refused"], 1, "{told}");
    let strict = ("INTERLOCK_STRICT", "true");
    assert_eq!(verify(&room, &[steps, sessions, strict]).0, Some(1));
    assert_eq!(verify(&room, &[steps]).0, Some(2));
}

fn write_comment(room: &Room, github: &GitHub, token: &str) -> Output {
    let mut command = room.command("node");
    command
        .arg(repository().join("ci/comment.mjs"))
        .arg(room.path("reports").join("summary.md"))
        .env("GITHUB_API_URL", &github.address)
        .env("GITHUB_REPOSITORY", "ana/shop")
        .env("GITHUB_TOKEN", token)
        .env("INTERLOCK_PULL_REQUEST", "7");
    command.output().unwrap()
}

#[test]
fn the_results_are_one_comment_of_the_pull_request() {
    let room = project(&[("flow.yaml", SOUND)]);
    let mark = "<!-- interlock: results of workflows -->\n";
    // The first page of comments is full, and somebody else has written the mark.
    let mut before = vec![comment(1, "mallory", mark)];
    before.extend((2..=100).map(|id| comment(id, "ana", "looks good")));
    let github = GitHub::with(before.clone());
    for row in [
        "| check | .interlock/workflows/flow.yaml | in order |",
        "**failed**",
    ] {
        verify(&room, &[("INTERLOCK_STEPS", "check")]);
        let output = write_comment(&room, &github, TOKEN);
        assert!(output.status.success(), "{output:?}");
        let after = github.comments();
        assert_eq!(after[..100], before[..]);
        assert_eq!(after.len(), 101);
        let body = after[100]["body"].as_str().unwrap();
        assert!(body.starts_with(mark) && body.contains(row), "{body}");
        let broken = SOUND.replace("DONE: done", "DONE: nowhere");
        room.write(".interlock/workflows/flow.yaml", &broken)
            .unwrap();
    }
}

#[test]
fn a_pull_request_whose_comments_may_not_be_written_does_not_fail_the_job() {
    let room = project(&[("flow.yaml", SOUND)]);
    verify(&room, &[("INTERLOCK_STEPS", "check")]);
    let github = GitHub::with(Vec::new());
    let output = write_comment(&room, &github, "ghs_reads");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("::warning") && said.contains("pull-requests: write"),
        "{said}"
    );
    assert!(github.comments().is_empty());
    let nobody = github.away();
    assert_eq!(write_comment(&room, &nobody, TOKEN).status.code(), Some(2));
}

#[test]
fn the_files_for_ci_services_name_scripts_and_inputs_that_are_there() {
    let root = repository();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let action: Value = serde_saphyr::from_str(&read("action.yml")).unwrap();
    let inputs = action["inputs"].as_object().unwrap();
    let text = action["runs"].to_string();
    for used in text.split("inputs.").skip(1) {
        let end = used.find(|letter: char| !letter.is_alphanumeric() && letter != '-');
        let name = used.get(..end.unwrap()).unwrap();
        assert!(inputs.contains_key(name), "{name}");
    }
    for step in action["runs"]["steps"].as_array().unwrap() {
        // Text from others never becomes part of a script.
        let script = step["run"].as_str().unwrap_or_default();
        assert!(!script.contains("${{"), "{script}");
        if let Some(rest) = script.split("$GITHUB_ACTION_PATH/").nth(1) {
            let file = rest.split('"').next().unwrap();
            assert!(root.join(file).is_file(), "{file}");
        }
    }
    let gitlab: Value = serde_saphyr::from_str(&read("ci/gitlab.yml")).unwrap();
    let script = gitlab["interlock"]["script"].to_string();
    assert!(script.contains("ci/verify.sh"), "{script}");
    let script = gitlab[".interlock-guard"]["script"].to_string();
    assert!(script.contains("ci/guard.sh"), "{script}");
    let hooks: Value = serde_saphyr::from_str(&read(".pre-commit-hooks.yaml")).unwrap();
    for hook in hooks.as_array().unwrap() {
        let entry = hook["entry"].as_str().unwrap();
        let arguments = entry.strip_prefix("interlock ").unwrap();
        let help = Command::new(INTERLOCK).args([arguments, "--help"]).output();
        assert!(help.unwrap().status.success(), "{entry}");
    }
}
