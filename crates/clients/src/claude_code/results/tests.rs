use interlock_core::names::CallId;
use serde_json::json;

use super::*;

fn used(command: &str, mut input: Value) -> ToolUse {
    if let Value::Object(object) = &mut input {
        object.insert("command".to_owned(), command.into());
    }
    ToolUse {
        id: Some(CallId::from("c")),
        name: "Bash".to_owned(),
        common: None,
        input,
        doubled: None,
        wrote: None,
    }
}

fn success(command: &str) -> Option<i64> {
    let response = json!({"stdout": "", "stderr": "", "interrupted": false});
    exit_code(&used(command, json!({})), true, &response)
}

#[test]
fn a_line_that_succeeded_ended_with_0() {
    for line in [
        "cargo test",
        "cd x && npm test",
        "FOO=1 pytest -q",
        "make test",
        "latest",
    ] {
        assert_eq!(success(line), Some(0), "{line}");
    }
}

#[test]
fn success_says_nothing_where_the_client_forgives_a_1() {
    let lines = [
        "grep x f",
        "cargo test; grep x f",
        "cargo test -- 'x | grep y'",
        "cargo test && /usr/bin/diff a b",
        "cargo test \"$(test -f x)\"",
        "[ -f x ]",
        "if test -f x; then cargo test; fi",
        "git -C x diff --quiet",
        "cargo test # ; rg x",
        "while ! find x; do :; done",
    ];
    for line in lines {
        assert_eq!(success(line), None, "{line}");
    }
}

#[test]
fn what_went_on_in_the_background_or_was_broken_off_proves_nothing() {
    let done = json!({"stdout": "", "stderr": "", "interrupted": false});
    let rows = [
        (json!({"run_in_background": true}), done.clone()),
        (json!({}), json!({"stdout": "", "interrupted": true})),
        (
            json!({}),
            json!({"stdout": "", "interrupted": false, "backgroundTaskId": "b1"}),
        ),
        (
            json!({}),
            json!({"stdout": "", "interrupted": false, "timedOutAfterMs": 1}),
        ),
        (
            json!({}),
            json!({"stdout": "", "interrupted": false, "returnCodeInterpretation": "x"}),
        ),
        (json!({}), json!("exit_code: 0")),
        (
            json!({}),
            json!({"exit_code": 0, "stdout": "All tests passed"}),
        ),
        (json!({}), Value::Null),
    ];
    for (input, response) in rows {
        let call = used("cargo test", input);
        assert_eq!(exit_code(&call, true, &response), None, "{response}");
    }
    let call = used("cargo test", json!({}));
    assert_eq!(exit_code(&call, true, &done), Some(0));
}

#[test]
fn a_failure_has_the_code_of_its_first_line_only() {
    let rows = [
        ("Exit code 3\nsome output", Some(3)),
        ("Exit code 1", Some(1)),
        ("Exit code 0\n", None),
        ("Exit code x", None),
        ("Command timed out after 1s\nExit code 1", None),
        ("", None),
    ];
    for (error, exit) in rows {
        let call = used("cargo test", json!({}));
        assert_eq!(exit_code(&call, false, &json!(error)), exit, "{error}");
    }
}

#[test]
fn the_bytes_are_those_the_model_sees() {
    let rows = [
        (
            "Read",
            json!({"type": "text", "file": {"filePath": "/a/long/path", "content": "1234"}}),
            4,
        ),
        (
            "Bash",
            json!({"stdout": "12", "stderr": "3", "interrupted": false}),
            3,
        ),
        (
            "mcp__stub__ping",
            json!([{"type": "text", "text": "pong"}]),
            4,
        ),
        (
            "Edit",
            json!({"originalFile": "long", "structuredPatch": [{"lines": ["-a", "+b"]}]}),
            4,
        ),
        (
            "Unknown",
            json!({"a": {"b": "12"}, "c": 567, "d": null}),
            13,
        ),
    ];
    for (tool, response, expected) in rows {
        assert_eq!(result_bytes(tool, &response), expected, "{tool}");
    }
}
