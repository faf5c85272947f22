//! `check`, `test` and `prove` with `--format`: the output for other programs.

use std::process::Stdio;

use interlock_core::substance::ReportFormat;
use interlock_facts::read_report;
use interlock_testkit::room::Room;
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// A workflow with an error, before it a character of two UTF-16 units, and a comma in its message.
const BROKEN: &str = "id: flow
initial: work
states:
  work: {instructions: \"\u{1f600}\", on: {GO: nowhere, STAY: work}}
  done: {type: final}
";

const FLOW: &str = "id: flow
initial: work
guards:
  tested: {evidence: {command: make check}}
states:
  work:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: [make check]
    on: {SHIP: {target: shipped, guard: tested}, SKIP: looked, GIVE_UP: failed}
  looked: {allowed_tools: [Read], on: {SHIP: shipped}}
  shipped: {type: final}
  failed: {type: final}
properties:
  - name: what is shipped was tested
    before: {enter: shipped}
    require: [{guard: tested}]
";

const CASES: &str = "workflow: flow.yaml
cases:
  - name: reading is allowed
    steps:
      - {tool: Read, input: {file_path: a}, expect: {ok: true}}
  - name: writing is refused
    steps:
      - {tool: Read, input: {file_path: a}, expect: {ok: true}}
      - {tool: Edit, input: {file_path: a}, expect: {ok: false}}
";

/// Returns a repository with its workflows in a folder.
fn repository(files: &[(&str, &str)]) -> Room {
    let room = Room::new().unwrap();
    room.write(".git/HEAD", "ref: refs/heads/main\n").unwrap();
    for (name, text) in files {
        room.write(&format!("flows/{name}"), text).unwrap();
    }
    room
}

/// Runs the program in the folder of the workflows.
fn out(room: &Room, arguments: &[&str], code: i32) -> String {
    let output = room
        .command(INTERLOCK)
        .args(arguments)
        .current_dir(room.project().join("flows"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Counts passed and failed tests in a JUnit report, with the reader for evidence.
fn counted(xml: String) -> (u64, u64) {
    let report = read_report(ReportFormat::Junit, &[xml.into_bytes()]).unwrap();
    let counts = report.counts(None);
    (counts.passed, counts.failed)
}

#[test]
fn an_error_is_an_annotation_at_its_place_in_the_repository() {
    let room = repository(&[("flow.yaml", BROKEN)]);
    let said = out(&room, &["check", "flow.yaml", "--format", "github"], 1);
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("title=undefined_state::"))
        .collect();
    assert_eq!(errors.len(), 1, "{said}");
    assert!(
        errors[0].starts_with("::error file=flows/flow.yaml,line=4,col=38,"),
        "{said}"
    );
    assert!(said.lines().all(|line| line.starts_with("::")), "{said}");
}

#[test]
fn sarif_has_what_its_schema_demands() {
    let room = repository(&[("flow.yaml", BROKEN), ("flow2.yaml", FLOW)]);
    for (arguments, code) in [
        (["check", "flow.yaml", "--format", "sarif"], 1),
        (["prove", "flow2.yaml", "--format", "sarif"], 1),
        (["prove", "flow.yaml", "--format", "sarif"], 1),
    ] {
        let document: Value = serde_json::from_str(&out(&room, &arguments, code)).unwrap();
        assert_eq!(document["version"], "2.1.0");
        let run = &document["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "interlock");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let results = run["results"].as_array().unwrap();
        assert!(!results.is_empty(), "{document}");
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let level = result["level"].as_str().unwrap();
            assert!(["error", "warning", "note"].contains(&level));
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(uri.starts_with("flows/flow"), "{uri}");
            assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
        }
    }
}

#[test]
fn a_failed_case_is_at_the_line_of_its_step() {
    let room = repository(&[("flow.yaml", FLOW), ("flow.test.yaml", CASES)]);
    let said = out(&room, &["test", "flow.test.yaml", "--format", "github"], 1);
    assert!(
        said.starts_with(
            "::error file=flows/flow.test.yaml,line=9,title=failed_case::writing is refused%0A"
        ),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn junit_counts_what_passed_and_failed() {
    let room = repository(&[("flow.yaml", FLOW), ("flow.test.yaml", CASES)]);
    let tested = out(&room, &["test", "flow.test.yaml", "--format", "junit"], 1);
    assert_eq!(counted(tested), (1, 1));
    let checked = out(&room, &["check", "flow.yaml", "--format", "junit"], 0);
    assert_eq!(counted(checked), (1, 0));
    let proved = out(&room, &["prove", "flow.yaml", "--format", "junit"], 1);
    let (passed, failed) = counted(proved);
    assert!(passed > 0 && failed == 1, "{passed} {failed}");
}

#[test]
fn json_is_the_same_by_either_name() {
    let room = repository(&[("flow.yaml", FLOW), ("flow.test.yaml", CASES)]);
    for (arguments, code) in [
        (["check", "flow.yaml"], 0),
        (["test", "flow.test.yaml"], 1),
        (["prove", "flow.yaml"], 1),
    ] {
        let short = out(&room, &[&arguments[..], &["--json"]].concat(), code);
        let long = out(
            &room,
            &[&arguments[..], &["--format", "json"]].concat(),
            code,
        );
        assert_eq!(short, long);
    }
}

#[test]
fn a_comparison_that_permits_more_is_a_finding() {
    let old = FLOW.replace("SKIP: looked, ", "");
    let old = old.replace(
        "  looked: {allowed_tools: [Read], on: {SHIP: shipped}}\n",
        "",
    );
    let room = repository(&[("new.yaml", FLOW), ("old.yaml", &old)]);
    let arguments = ["prove", "new.yaml", "--against", "old.yaml", "--format"];
    let said = out(&room, &[&arguments[..], &["github"]].concat(), 1);
    assert!(
        said.starts_with("::error file=flows/new.yaml,line=1,title=permits_more::"),
        "{said}"
    );
    let junit = out(&room, &[&arguments[..], &["junit"]].concat(), 1);
    assert_eq!(counted(junit), (0, 1));
}
