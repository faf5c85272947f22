#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use serde_json::json;

use super::{InputLine, ResultLine, short_form};

#[test]
fn what_is_none_of_the_shapes_is_refused_with_a_reason() {
    for (text, reason) in [
        ("nonsense", "not valid JSON"),
        ("[]", "one JSON object"),
        ("{}", "an empty line"),
        (r#"{"tol": "Edit"}"#, "unknown key `tol`"),
        (r#"{"tool": "Edit", "inptu": {}}"#, "unknown key `inptu`"),
        (r#"{"state": {}, "data": {}}"#, "unknown key `data`"),
        (r#"{"state": {"x": 1}}"#, "unknown key `x`"),
        (r#"{"tool": "A", "transition": "B"}"#, "two lines"),
        (r#"{"tool": 3}"#, "wanted text"),
        (r#"{"transition": "A", "data": []}"#, "wanted an object"),
        (r#"{"tool": "Edit", "files": {"a": 1}}"#, "`a`"),
        (r#"{"result": {"exit": 1.5}}"#, "wanted an integer"),
        (r#"{"result": {"bytes": -1}}"#, "`bytes`"),
        (r#"{"result": {"wrote": "a"}}"#, "list of texts"),
        (r#"{"approve": {}}"#, "needs `by`"),
        (
            r#"{"reject": {"by": "ana", "data": {}}}"#,
            "unknown key `data`",
        ),
        (r#"{"advance": "soon"}"#, "not a duration"),
        (r#"{"activity": {}}"#, "`done` or `error`"),
        (r#"{"activity": {"done": 1, "error": {}}}"#, "one of them"),
        (r#"{"message": {}}"#, "list of calls"),
        (r#"{"message": [1]}"#, "a call of a"),
        (r#"{"message": [{"tool": "A", "x": 1}]}"#, "unknown key `x`"),
        (r#"{"pause": null}"#, "wanted an object"),
        (r#"{"tool": "A", "id": 1}"#, "wanted text"),
        (r#"{"tool": "A", "asked": "yes"}"#, "`asked`"),
        (
            r#"{"message": [{"tool": "A", "id": "a"}]}"#,
            "unknown key `id`",
        ),
        (r#"{"line_started": {"id": "a"}}"#, "wanted text"),
        (r#"{"line_ended": {"exit": 0}}"#, "needs `id`"),
        (
            r#"{"line_ended": {"id": "a", "exit": "0"}}"#,
            "`exit` of a line",
        ),
    ] {
        let said = InputLine::parse(text).unwrap_err();
        assert!(said.contains(reason), "{text}: {said}");
    }
}

#[test]
fn an_outcome_left_out_is_as_hoped() {
    let read = |text: &str| match InputLine::parse(text).unwrap() {
        InputLine::Result(result) => result,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(r#"{"result": {}}"#), ResultLine::default());
    let failed = read(r#"{"result": {"ok": false}}"#);
    assert_eq!((failed.ok, failed.exit), (false, None));
    let failed = read(r#"{"result": {"exit": 2}}"#);
    assert_eq!((failed.ok, failed.exit), (false, Some(2)));
}

#[test]
fn short_forms_stand_for_lines() {
    for (short, line) in [
        ("state", json!({"state": {}})),
        ("READY", json!({"transition": "READY", "data": {}})),
        (
            r#"READY {"x": 1}"#,
            json!({"transition": "READY", "data": {"x": 1}}),
        ),
        (
            r#"tool Read {"file_path": "a"}"#,
            json!({"tool": "Read", "input": {"file_path": "a"}}),
        ),
        (
            "Bash ls -la",
            json!({"tool": "Bash", "input": {"command": "ls -la"}}),
        ),
        (
            r#"Read {"file_path": "a"}"#,
            json!({"tool": "Read", "input": {"file_path": "a"}}),
        ),
        ("approve ana", json!({"approve": {"by": "ana"}})),
        (
            "reject ana too early",
            json!({"reject": {"by": "ana", "note": "too early"}}),
        ),
        ("advance 30s", json!({"advance": "30s"})),
        (r#"{"cancel": {}}"#, json!({"cancel": {}})),
    ] {
        assert_eq!(short_form(short).unwrap(), line, "{short}");
        assert!(InputLine::from_value(line).is_ok(), "{short}");
    }
}
