#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use interlock_core::machine::Object;
use serde_json::{Value, json};

use super::{CaseFile, WorkflowText, matching};

fn differs(expect: Value, output: &Value) -> bool {
    let expect: Object = serde_json::from_value(expect).unwrap();
    !matching::differences(&expect, output).is_empty()
}

#[test]
fn a_part_of_the_answer_is_compared_by_value() {
    let output = json!({
        "ok": true, "code": null, "message": "use Read",
        "context": {"a": {"b": 1, "c": 2}, "n": 1.0},
        "tools": ["Read", "Grep"],
        "events": [{"event": "GO", "target": "b", "ready": true}],
    });
    for (expect, matches) in [
        (json!({}), true),
        (json!({"ok": true, "code": null}), true),
        (json!({"ok": false}), false),
        (json!({"context": {"a": {"b": 1}}}), true),
        (json!({"context": {"a": {"b": 2}}}), false),
        (json!({"context": {"n": 1}}), true),
        (json!({"context": {"missing": null}}), false),
        (json!({"tools": ["Read"]}), false),
        (json!({"tools": ["Grep", "Read"]}), false),
        (json!({"tools": ["Read", "Grep"]}), true),
        (json!({"tools": null}), false),
        (json!({"verdict": null}), false),
        (json!({"events": [{"event": "GO"}]}), true),
        (json!({"message_contains": ["Read"]}), true),
        (json!({"message_contains": ["Read", "Edit"]}), false),
        (json!({"context_lacks": "missing"}), true),
        (json!({"context_lacks": ["missing", "n"]}), false),
        (json!({"context_lacks": ["a.d", "n.d", "missing.d"]}), true),
        (json!({"context_lacks": "a.b"}), false),
        (json!({"context_lacks": 1}), false),
    ] {
        assert_eq!(!differs(expect.clone(), &output), matches, "{expect}");
    }
}

#[test]
fn an_answer_without_a_context_lacks_no_key() {
    assert!(differs(json!({"context_lacks": "a"}), &json!({"ok": true})));
}

const FILE: &str = "\
# A rule.
workflow:
  id: w
  initial: a
  states:
    a: {on: {yes: b}}
    b: {type: final}
cases:
  - name: yes leads on
    steps:
      - {transition: yes, data: {n: 9007199254740993}, expect: {state: b}}
";

#[test]
fn an_inline_workflow_keeps_its_lines() {
    let file = CaseFile::parse(FILE).unwrap();
    let WorkflowText::Inline(text) = &file.workflow else {
        panic!("{:?}", file.workflow);
    };
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.get(2), Some(&"  id: w"));
    assert!(!text.contains("cases"));
    let steps = &file.cases.first().unwrap().steps;
    assert!(steps.first().unwrap().shown.contains("\"yes\""));
    assert!(steps.first().unwrap().shown.contains("9007199254740993"));
}

#[test]
fn a_workflow_in_one_line_keeps_its_values() {
    let block = "workflow:\n  id: w\n  initial: a\n  states:\n    a: {on: {yes: b}}\n    b: {type: final}\n";
    let line = "workflow: {id: w, initial: a, states: {a: {on: {no: b}}, b: {type: final}}}\n";
    let file = CaseFile::parse(&FILE.replace(block, line)).unwrap();
    let WorkflowText::Inline(text) = &file.workflow else {
        panic!("{:?}", file.workflow);
    };
    assert!(text.contains(r#"{"no":"b"}"#), "{text}");
}

#[test]
fn a_file_that_is_no_test_file_says_why() {
    for (text, reason) in [
        ("cases: []", "`workflow` is missing"),
        ("workflow: w.json", "`cases` is missing"),
        ("workflow: 3\ncases: []", "neither"),
        ("workflow: w.json\ncases: []\nstep: 1", "unknown key `step`"),
        ("workflow: w.json\ncases: [{steps: []}]", "no `name`"),
        ("workflow: w.json\ncases: [{name: n}]", "no list of `steps`"),
        (
            "workflow: w.json\ncases: [{name: n, steps: [{tol: A}]}]",
            "step 1: unknown key `tol`",
        ),
        (
            "workflow: w.json\ncases: [{name: n, steps: [{state: {}, expect: {stat: a}}]}]",
            "unknown key `stat`",
        ),
        ("workflow: w.json\nworkflow: v.json\ncases: []", "workflow"),
        ("a: [", ""),
    ] {
        let said = CaseFile::parse(text).unwrap_err().to_string();
        assert!(said.contains(reason), "{text}: {said}");
    }
}
