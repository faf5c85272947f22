//! Every row of the tables of outputs and flags, and how flags go together.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_expr::number::deep_equal;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Clear, DataFlags, apply, contribution, parse_output};
use crate::machine::Object;

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

/// Applies an output to a context and a conversation of one message.
fn applied(flags: &DataFlags, context: Value, text: &str) -> (Value, Vec<String>) {
    let mut context = object(context);
    let mut history = vec!["before".to_owned()];
    let output = parse_output(text);
    apply(
        flags,
        &mut context,
        &mut history,
        text.to_owned(),
        (&output, text),
    );
    (Value::Object(context), history)
}

fn context_after(flags: &DataFlags, context: Value, text: &str) -> Value {
    applied(flags, context, text).0
}

#[test]
fn outputs_are_read_in_their_order() {
    for (text, wanted) in [
        // The whole as JSON.
        (r#"{"a": 1}"#, json!({ "a": 1 })),
        (" [1, 2]\n", json!([1, 2])),
        ("42", json!(42)),
        ("\"text\"", json!("text")),
        ("null", Value::Null),
        // The whole as a Python literal.
        (
            "{'a': True, 'b': None, \"c\": [1, 2,],}",
            json!({ "a": true, "b": null, "c": [1, 2] }),
        ),
        ("(1, 'two')", json!([1, "two"])),
        ("(1,)", json!([1])),
        ("(1)", json!(1)),
        ("()", json!([])),
        ("{1, 2}", json!([1, 2])),
        ("{1: 'a'}", json!({ "1": "a" })),
        ("{'it\\'s': 'a\\n\\u00e9'}", json!({ "it's": "a\né" })),
        ("['a' 'b', '''c\nd''']", json!(["ab", "c\nd"])),
        ("[1., .5, -2, +3, 1e3]", json!([1.0, 0.5, -2, 3, 1e3])),
        ("True", json!(true)),
        (
            "{True: 1, False: 2, None: 3, 4: 5}",
            json!({ "True": 1, "False": 2, "None": 3, "4": 5 }),
        ),
        (
            r#"['\t\r\0\\', '\x41\u0042\U00000043', '\q', 'a\"', "it's"]"#,
            json!(["\t\r\0\\", "ABC", "\\q", "a\"", "it's"]),
        ),
        ("['a\\\nb']", json!(["ab"])),
        ("{}", json!({})),
        // More than one literal is text.
        ("True story", json!("True story")),
        ("[1, 2] of them", json!("[1, 2] of them")),
        ("12 monkeys", json!("12 monkeys")),
        ("'a' or 'b'", json!("'a' or 'b'")),
        ("None", Value::Null),
        // A fenced block.
        (
            "Here:\n```json\n{\"a\": 1}\n```\nand {\"b\": 2}",
            json!({ "a": 1 }),
        ),
        ("~~~ JSON\n[1]\n~~~", json!([1])),
        (
            "```python\n{'x': 0}\n```\n```Json\n{\"a\": 1}\n```",
            json!({ "a": 1 }),
        ),
        ("````json\n{\"a\": \"```\"}\n````", json!({ "a": "```" })),
        ("```json\n{'a': True}\n```", json!({ "a": true })),
        // The first balanced object.
        (
            "The answer is {\"a\": {\"b\": 1}}, as asked.",
            json!({ "a": { "b": 1 } }),
        ),
        ("Use {braces} and {'a': False} now", json!({ "a": false })),
        ("```json\nnot json\n```\n{\"a\": 1}", json!({ "a": 1 })),
        ("{\"broken\": {\"inner\": 1}", json!({ "inner": 1 })),
        ("text {1, 2} text {\"a\": 1}", json!({ "a": 1 })),
    ] {
        let found = parse_output(text);
        assert!(deep_equal(&found, &wanted), "{text}: {found}");
    }
    // Anything else is text, as it is.
    for text in [
        "prose",
        "",
        " padded ",
        "a [1, 2] b",
        "{oops",
        "<html>{}{</html",
        "007",
        "1_000",
        "lambda: 1",
        "{'a': open('x')}",
        "['a\nb']",
        r"['\x4']",
        r"['\ud800']",
        "{[1]: 2}",
        "[Truest]",
        "'open",
    ] {
        let wanted = if text.contains("{}") {
            json!({})
        } else {
            json!(text)
        };
        assert_eq!(parse_output(text), wanted, "{text}");
    }
}

#[test]
fn what_an_output_gives_depends_on_its_kind() {
    assert_eq!(
        contribution(&json!({ "a": { "b": 1 } })),
        object(json!({ "a": { "b": 1 } }))
    );
    let list = json!([{ "a": 1, "b": 1 }, 5, { "b": 2 }]);
    assert_eq!(contribution(&list), object(json!({ "a": 1, "b": 2 })));
    for other in [json!("text"), json!(5), json!(null), json!([1, 2])] {
        assert!(contribution(&other).is_empty(), "{other}");
    }
}

#[test]
fn each_flag_does_what_its_row_says() {
    let plain = DataFlags::default();
    let start = || json!({ "a": 1, "b": 2 });
    let given = r#"{"b": 3, "c": 4}"#;
    for (flags, wanted) in [
        (plain.clone(), json!({ "a": 1, "b": 3, "c": 4 })),
        (
            DataFlags {
                store: false,
                ..plain.clone()
            },
            json!({ "a": 1, "b": 2 }),
        ),
        (
            DataFlags {
                store: false,
                output_key: Some("k".into()),
                ..plain.clone()
            },
            json!({ "a": 1, "b": 2, "k": { "b": 3, "c": 4 } }),
        ),
        (
            DataFlags {
                clear: Clear::Everything,
                ..plain.clone()
            },
            json!({}),
        ),
        (
            DataFlags {
                clear: Clear::KeepCurrent,
                ..plain.clone()
            },
            json!({ "b": 3, "c": 4 }),
        ),
        (
            DataFlags {
                clear: Clear::KeepCurrent,
                store: false,
                output_key: Some("k".into()),
                ..plain.clone()
            },
            json!({ "k": { "b": 3, "c": 4 } }),
        ),
        (
            DataFlags {
                clear: Clear::KeepCurrent,
                store: false,
                ..plain.clone()
            },
            json!({}),
        ),
        (
            DataFlags {
                reset: vec!["a".into(), "b".into(), "none".into()],
                ..plain.clone()
            },
            json!({ "b": 3, "c": 4 }),
        ),
        (
            DataFlags {
                reset: vec!["a".into()],
                store: false,
                ..plain.clone()
            },
            json!({ "b": 2 }),
        ),
        (
            DataFlags {
                append: true,
                ..plain.clone()
            },
            json!({ "a": 1, "b": [2, 3], "c": [4] }),
        ),
        (
            DataFlags {
                append: true,
                reset: vec!["b".into()],
                ..plain.clone()
            },
            json!({ "a": 1, "b": [3], "c": [4] }),
        ),
        (
            DataFlags {
                append: true,
                clear: Clear::KeepCurrent,
                ..plain.clone()
            },
            json!({ "b": [3], "c": [4] }),
        ),
    ] {
        assert_eq!(context_after(&flags, start(), given), wanted, "{flags:?}");
    }
}

#[test]
fn the_output_key_gets_the_parsed_output_or_the_text() {
    let flags = DataFlags {
        output_key: Some("k".into()),
        ..DataFlags::default()
    };
    for (text, wanted) in [
        ("{'a': 1}", json!({ "a": 1 })),
        ("[1, 2]", json!([1, 2])),
        ("prose", json!("prose")),
        // Neither an object nor a list: the text as it came.
        ("042.0", json!("042.0")),
        ("42", json!("42")),
        ("true", json!("true")),
    ] {
        let found = context_after(&flags, json!({}), text);
        assert_eq!(found.get("k"), Some(&wanted), "{text}");
    }
}

#[test]
fn appending_extends_what_is_there() {
    let flags = DataFlags {
        append: true,
        ..DataFlags::default()
    };
    for (before, given, wanted) in [
        (json!({}), r#"{"x": 1}"#, json!({ "x": [1] })),
        (json!({ "x": [1] }), r#"{"x": 2}"#, json!({ "x": [1, 2] })),
        (json!({ "x": 1 }), r#"{"x": 2}"#, json!({ "x": [1, 2] })),
        (
            json!({ "x": [1] }),
            r#"{"x": [2, 3]}"#,
            json!({ "x": [1, 2, 3] }),
        ),
        (
            json!({ "x": null }),
            r#"{"x": 2}"#,
            json!({ "x": [null, 2] }),
        ),
    ] {
        assert_eq!(context_after(&flags, before, given), wanted, "{given}");
    }
}

#[test]
fn the_conversation_is_kept_apart_from_the_context() {
    let all = |in_history, clear_messages| DataFlags {
        in_history,
        clear_messages,
        ..DataFlags::default()
    };
    for (flags, wanted) in [
        (all(true, false), vec!["before", "{\"a\":1}"]),
        (all(false, false), vec!["before"]),
        (all(true, true), vec!["{\"a\":1}"]),
        (all(false, true), vec![]),
    ] {
        let (context, history) = applied(&flags, json!({ "x": 0 }), "{\"a\":1}");
        assert_eq!(history, wanted, "{flags:?}");
        assert_eq!(context, json!({ "x": 0, "a": 1 }));
    }
    let cleared = DataFlags {
        clear: Clear::Everything,
        ..DataFlags::default()
    };
    let (context, history) = applied(&cleared, json!({ "x": 0 }), "text");
    assert_eq!((context, history.len()), (json!({}), 2));
}

#[test]
fn flags_survive_being_written_and_read() {
    let flags = DataFlags {
        output_key: Some("k".into()),
        clear: Clear::KeepCurrent,
        reset: vec!["a".into()],
        ..DataFlags::default()
    };
    let text = serde_json::to_string(&flags).unwrap();
    assert_eq!(serde_json::from_str::<DataFlags>(&text).unwrap(), flags);
    assert_eq!(
        serde_json::from_str::<DataFlags>("{}").unwrap(),
        DataFlags::default()
    );
}

#[test]
fn deep_and_long_outputs_are_read_in_time() {
    let deep = "{\"a\":".repeat(100_000);
    assert!(parse_output(&deep).is_string());
    let many = "{'a':[1,".repeat(100_000);
    assert!(parse_output(&many).is_string());
    let open = "{".repeat(1_000_000);
    assert!(parse_output(&open).is_string());
}

fn flags() -> impl Strategy<Value = DataFlags> {
    let clear = prop::sample::select(vec![Clear::Nothing, Clear::Everything, Clear::KeepCurrent]);
    let key = prop::option::of(prop::sample::select(vec!["a", "k"]));
    let reset = prop::collection::vec(prop::sample::select(vec!["a", "b"]), 0..2);
    (any::<[bool; 4]>(), clear, key, reset).prop_map(
        |([store, append, in_history, forget], clear, key, reset)| DataFlags {
            store,
            append,
            in_history,
            clear_messages: forget,
            clear,
            output_key: key
                .filter(|_| clear != Clear::Everything)
                .map(str::to_owned),
            reset: reset.into_iter().map(str::to_owned).collect(),
            as_person: false,
            keep_first: false,
        },
    )
}

/// The same by the words of the documentation, key by key.
fn expected(
    flags: &DataFlags,
    before: &Object,
    output: &Value,
    text: &str,
    key: &str,
) -> Option<Value> {
    let cleared = flags.clear != Clear::Nothing || flags.reset.iter().any(|reset| reset == key);
    let mut held = before.get(key).filter(|_| !cleared).cloned();
    if flags.clear == Clear::Everything {
        return None;
    }
    let own = contribution(output)
        .get(key)
        .cloned()
        .filter(|_| flags.store);
    let is_key = flags.output_key.as_deref() == Some(key);
    let whole = if output.is_object() || output.is_array() {
        output.clone()
    } else {
        json!(text)
    };
    for given in own.into_iter().chain(is_key.then_some(whole)) {
        held = Some(match (flags.append, held) {
            (false, _) => given,
            (true, held) => {
                let listed = |value: Value| match value {
                    Value::Array(items) => items,
                    value => vec![value],
                };
                let mut list = held.map(listed).unwrap_or_default();
                list.extend(listed(given));
                Value::Array(list)
            }
        });
    }
    held
}

proptest! {
    #[test]
    fn every_combination_does_what_its_rows_say(
        flags in flags(),
        text in prop::sample::select(vec![r#"{"a": 1}"#, r#"{"a": [1], "b": 2}"#, r#"[{"b": 3}, {"b": 4}]"#, "prose", "7"]),
    ) {
        let before = json!({ "a": 0, "b": ["x"], "c": true });
        let (after, history) = applied(&flags, before.clone(), text);
        let output = parse_output(text);
        let (before, after) = (object(before), object(after));
        for key in ["a", "b", "c", "k"] {
            prop_assert_eq!(after.get(key).cloned(), expected(&flags, &before, &output, text, key), "{} {:?}", key, flags);
        }
        let kept = usize::from(!flags.clear_messages) + usize::from(flags.in_history);
        prop_assert_eq!(history.len(), kept);
    }

    #[test]
    fn any_text_is_an_output(text in "(?s).{0,80}") {
        let _ = parse_output(&text);
    }

    #[test]
    fn pieces_of_outputs_are_read(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["{", "}", "[", "]", "(", ")", "'a'", "\"b\"", ":", ",", "1", "None", "```json\n", "```\n", "\n", "\\", "é"]),
            0..24,
        )
    ) {
        let _ = parse_output(&pieces.concat());
    }
}
