//! Arguments as models write them, and the tools' descriptions of themselves.

use interlock_tools::{Arguments, Tool, findings};
use serde_json::json;

fn refused(text: &str) -> String {
    Arguments::read(text).unwrap_err().to_string()
}

#[test]
fn what_readers_of_json_do_not_agree_on_is_refused() {
    let rows = [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{} {}", "not JSON"),
        (r#"{"a":1,"a":2}"#, "`/a`: duplicate key"),
        (r#"{"a":[{"b":1,"\u0062":2}]}"#, "`/a/0/b`: duplicate key"),
        (r#"{"a":"\ud800"}"#, "not JSON"),
        (
            r#"{"a":9007199254740992}"#,
            "`/a`: the number `9007199254740992`",
        ),
        (r#"{"a":[-9007199254740993]}"#, "`/a/0`"),
        (r#"{"a":1e999}"#, "`/a`"),
    ];
    for (text, wanted) in rows {
        let found = refused(text);
        assert!(found.contains(wanted), "{text}: {found}");
    }
}

#[test]
fn arguments_that_differ_in_writing_alone_are_the_same_ones() {
    let one = Arguments::read(r#"{"b":1.0,"a":"A"}"#).unwrap();
    let other = Arguments::read(" { \"a\" : \"\\u0041\", \"b\" : 1 }").unwrap();
    assert_eq!(one.digest(), other.digest());
    assert_eq!(one.value(), other.value());
    let third = Arguments::read(r#"{"b":1,"a":"A "}"#).unwrap();
    assert_ne!(one.digest(), third.digest());
}

#[test]
fn no_text_is_an_object_without_arguments() {
    for text in ["", " \n", "{}"] {
        assert_eq!(Arguments::read(text).unwrap().value(), &json!({}));
    }
}

#[test]
fn findings_name_the_place_and_are_bounded() {
    let arguments = Arguments::of(json!({
        "file_path": 1,
        "edits": (0..50).map(|_| json!({"old_string": ""})).collect::<Vec<_>>(),
    }));
    let faults = Tool::MultiEdit.faults(&arguments.unwrap());
    assert_eq!(faults.len(), 10);
    assert!(
        faults.iter().any(|fault| fault.at == "/file_path"),
        "{faults:?}"
    );
}

#[test]
fn every_tool_has_a_name_a_sentence_and_a_schema() {
    for tool in Tool::PIPELINE.into_iter().chain(Tool::CODEMIE) {
        assert!(!tool.name().is_empty());
        assert!(tool.description().ends_with('.'), "{}", tool.name());
        let schema = tool.schema();
        assert!(
            jsonschema::draft202012::meta::is_valid(schema),
            "{}",
            tool.name()
        );
        assert_eq!(schema["type"], "object", "{}", tool.name());
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name());
    }
}

#[test]
fn names_lead_to_their_tools() {
    assert_eq!(Tool::named(&Tool::PIPELINE, "LS"), Some(Tool::Ls));
    assert_eq!(Tool::named(&Tool::PIPELINE, "bash"), None);
    assert_eq!(Tool::named(&Tool::CODEMIE, "bash"), Some(Tool::ShellLine));
    assert_eq!(Tool::ShellLine.common(), Some("Bash"));
    assert_eq!(Tool::WriteFile.common(), Some("Write"));
    assert_eq!(Tool::Search.common(), Some("Grep"));
    assert_eq!(Tool::Read.common(), None);
    assert_eq!(Tool::HttpRequest.common(), None);
}

#[test]
fn a_long_result_is_cut_with_a_notice() {
    use interlock_tools::cut;
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(
        cut("one\ntwo\nthree", 9),
        "one\ntwo\n(6 more bytes are left out)"
    );
    assert_eq!(cut("äää", 3), "ä\n(4 more bytes are left out)");
}

#[test]
fn each_value_is_checked_against_its_own_schema() {
    // More schemas than are kept compiled, and each again after all the others.
    let numbers = || 0..64;
    for number in numbers().chain(numbers()) {
        let schema = json!({"const": number});
        assert_eq!(findings(&json!(number), &schema), []);
        let wrong = findings(&json!(number + 1), &schema);
        assert_eq!(wrong.len(), 1, "{number}: {wrong:?}");
    }
}

#[test]
fn nothing_matches_what_is_no_schema_however_often_it_is_asked() {
    for _ in 0..2 {
        let wrong = findings(&json!({}), &json!({"type": 1}));
        let is_told = |message: &str| message.starts_with("the schema is none");
        assert!(
            wrong.iter().any(|error| is_told(&error.message)),
            "{wrong:?}"
        );
    }
}
