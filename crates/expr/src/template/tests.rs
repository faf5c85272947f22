//! What blocks print, which stay as they are written, and what is bounded.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Missing, Rendered, Template, UnrenderedBlock, Values};
use crate::Object;

fn object(value: &Value) -> &Object {
    value.as_object().unwrap()
}

fn context() -> Value {
    serde_json::from_str(
        r#"{
            "name": "Alice", "n": 15, "f": 1.50, "one": 1.0, "big": 123456789012345678901234567890,
            "huge": 9999999999999999999999999999999999999999999, "yes": true, "no": false, "nil": null, "empty": "",
            "user": {"profile": {"name": "Bob"}, "tags": ["a", "b"]}, "files": [{"name": "x.rs"}, {"name": "y.rs", "note": "new"}],
            "hostile": "{{ name }} {% raw %}", "html": "<b>&\"'", "json": "{\"a\": 1}", "_secret": "s"
        }"#,
    )
    .unwrap()
}

fn rendered(source: &str, missing: Missing) -> Result<Rendered<String>, String> {
    let context = context();
    let beside =
        json!({ "task": "the output before", "name": "beside", "interlock": { "state": "s1" } });
    let values = Values {
        context: object(&context),
        beside: object(&beside),
    };
    Template::new(source)
        .render(values, missing)
        .map_err(|failure| failure.reason)
}

/// Asserts what a template becomes, where nothing stays.
fn prints(source: &str, wanted: &str) {
    for missing in [Missing::Stays, Missing::Fails] {
        let found = rendered(source, missing);
        let wanted = Rendered {
            result: wanted.to_owned(),
            left: Vec::new(),
        };
        assert_eq!(found, Ok(wanted), "{source}");
    }
}

/// Asserts what a template becomes where some blocks stay; where they fail it has no result.
fn leaves(source: &str, wanted: &str, blocks: &[&str]) {
    let found = rendered(source, Missing::Stays).unwrap();
    let left: Vec<&str> = found.left.iter().map(|left| left.block.as_str()).collect();
    assert_eq!(
        (found.result.as_str(), left.as_slice()),
        (wanted, blocks),
        "{source}"
    );
    assert!(rendered(source, Missing::Fails).is_err(), "{source}");
}

#[test]
fn the_pages_example_is_sent_exactly_as_printed() {
    let task = "Analyze data for user {{user_name}} (ID: {{user_id}}).\n\nFocus areas:\n- Department: {{department}}\n\
        - Project: {{project_name}}\n- Time period: {{start_date}} to {{end_date}}\n\nPrevious results: {{previous_results}}\n";
    let context = json!({
        "user_name": "Alice", "user_id": "12345", "department": "Engineering", "project_name": "Platform Redesign",
        "start_date": "2025-01-01", "end_date": "2025-03-31", "previous_results": "92% completion rate",
    });
    let wanted = "Analyze data for user Alice (ID: 12345).\n\nFocus areas:\n- Department: Engineering\n\
        - Project: Platform Redesign\n- Time period: 2025-01-01 to 2025-03-31\n\nPrevious results: 92% completion rate";
    let nothing = Object::new();
    let render = |context: &Value, missing| {
        let values = Values {
            context: object(context),
            beside: &nothing,
        };
        Template::new(task).render(values, missing)
    };
    let whole = Rendered {
        result: wanted.to_owned(),
        left: Vec::new(),
    };
    assert_eq!(render(&context, Missing::Stays), Ok(whole.clone()));
    assert_eq!(render(&context, Missing::Fails), Ok(whole));
    // Without one value its placeholder stays, and only that one.
    for (key, value) in object(&context) {
        let mut less = context.clone();
        less.as_object_mut().unwrap().remove(key);
        let found = render(&less, Missing::Stays).unwrap();
        let placeholder = format!("{{{{{key}}}}}");
        assert_eq!(
            found.result,
            wanted.replace(value.as_str().unwrap(), &placeholder)
        );
        assert_eq!(found.left.len(), 1);
        assert!(render(&less, Missing::Fails).is_err());
    }
}

#[test]
fn values_are_printed_as_the_table_says() {
    for (source, wanted) in [
        ("plain", "plain"),
        ("", ""),
        ("{{ name }}", "Alice"),
        ("{{name}}", "Alice"),
        ("{{ task }}", "the output before"),
        ("{{ interlock.state }}", "s1"),
        (
            "{{ user.profile.name }} {{ user['tags'][1] }} {{ files[0].name }}",
            "Bob b x.rs",
        ),
        (
            "{{ n }} {{ f }} {{ one }} {{ big }} {{ huge }}",
            "15 1.5 1.0 123456789012345678901234567890 9999999999999999999999999999999999999999999",
        ),
        ("{{ yes }} {{ no }} {{ nil }}", "True False None"),
        ("[{{ empty }}]", "[]"),
        (
            "{{ user }}",
            r#"{"profile":{"name":"Bob"},"tags":["a","b"]}"#,
        ),
        ("{{ user.tags }}", r#"["a","b"]"#),
        ("{{ html }}", "<b>&\"'"),
        ("{{ hostile }}", "{{ name }} {% raw %}"),
        ("{{ json }}", "{\"a\": 1}"),
        ("{{ '{{ name }}' }}", "{{ name }}"),
        ("{{ \"}}\" }}", "}}"),
        ("{{ {'a': {'b': 1}}.a.b }}", "1"),
        (
            "{{ name.upper() }} {{ name|lower }} {{ user.tags|join(', ') }}",
            "ALICE alice a, b",
        ),
        (
            "{{ user.profile.get('name') }} {{ user.tags|length }}",
            "Bob 2",
        ),
        (
            "{{ name ~ n }} {{ n + 1 }} {{ n // 2 }} {{ n / 2 }} {{ 'a' if yes else 'b' }}",
            "Alice15 16 7 7.5 a",
        ),
        ("{% if n > 10 %}many{% else %}few{% endif %}", "many"),
        (
            "{% for f in files %}{{ loop.index }}:{{ f.name }} {% endfor %}",
            "1:x.rs 2:y.rs ",
        ),
        (
            "{% for key, value in user.profile.items() %}{{ key }}={{ value }}{% endfor %}",
            "name=Bob",
        ),
        ("{% set x = n * 2 %}{{ x }}", "30"),
        ("{% if yes %}{% set x = 1 %}{% endif %}{{ x }}", "1"),
        ("{# a comment {{ nothing }} #}x", "x"),
        ("{% raw %}{{ name }}{% endraw %}", "{{ name }}"),
        ("a {{- name -}} b", "aAliceb"),
        ("a\n  {%- if yes -%} b {%- endif -%}  c", "abc"),
        ("one line break is dropped\n", "one line break is dropped"),
        ("only one\n\n", "only one\n"),
        ("a\r\nb", "a\r\nb"),
        ("é {{ name }} 日本", "é Alice 日本"),
        ("100% { } }} done", "100% { } }} done"),
    ] {
        prints(source, wanted);
    }
}

/// The printed texts are those of Jinja2 3.1.
#[test]
fn filters_of_jinja2_are_there() {
    for (filter, wanted) in [
        ("'one two three four'|truncate(10)", "one..."),
        ("'one two three four'|truncate(10, true)", "one two..."),
        ("'one two three four'|truncate(10, false, '~')", "one two~"),
        ("'one two three four'|truncate(10, end='!')", "one two!"),
        ("'one two three'|truncate(10)", "one two three"),
        ("'one two three'|truncate(10, false, '...', 0)", "one..."),
        ("'one two, three_four - 5'|wordcount", "4"),
        ("''|wordcount", "0"),
        ("'<b>x</b>  y <!-- z -->'|striptags", "x y"),
        ("1000000|filesizeformat", "1.0 MB"),
    ] {
        prints(&format!("{{{{ {filter} }}}}"), wanted);
    }
    let five = "{{ name|truncate(1, 2, 3, 4, 5) }}";
    leaves(five, five, &[five]);
}

#[test]
fn only_the_block_without_a_value_stays() {
    for (source, wanted, blocks) in [
        (
            "{{ name }} and {{ nobody }}!",
            "Alice and {{ nobody }}!",
            &["{{ nobody }}"][..],
        ),
        ("{{nobody}}", "{{nobody}}", &["{{nobody}}"]),
        (
            "{{ user.age }} {{ user.address.city }}",
            "{{ user.age }} {{ user.address.city }}",
            &["{{ user.age }}", "{{ user.address.city }}"],
        ),
        (
            "{{ files[7].name }}",
            "{{ files[7].name }}",
            &["{{ files[7].name }}"],
        ),
        (
            "{{ nobody|upper }} {{ nobody.upper() }}",
            "{{ nobody|upper }} {{ nobody.upper() }}",
            &["{{ nobody|upper }}", "{{ nobody.upper() }}"],
        ),
        (
            "{{ nobody + 1 }}",
            "{{ nobody + 1 }}",
            &["{{ nobody + 1 }}"],
        ),
        ("{{ [nobody] }}", "{{ [nobody] }}", &["{{ [nobody] }}"]),
        (
            "a {{- nobody -}} b",
            "a{{- nobody -}}b",
            &["{{- nobody -}}"],
        ),
        (
            "{% for f in files %}[{{ f.note }}]{% endfor %}",
            "[{{ f.note }}][new]",
            &["{{ f.note }}"],
        ),
        (
            "{% for x in nobody %}{{ x }}{% endfor %} end",
            "{% for x in nobody %}{{ x }}{% endfor %} end",
            &["{% for x in nobody %}{{ x }}{% endfor %}"],
        ),
        (
            "{% if user.address.city %}x{% endif %}{{ name }}",
            "{% if user.address.city %}x{% endif %}Alice",
            &["{% if user.address.city %}x{% endif %}"],
        ),
        (
            "{% if yes %}{{ nobody }}{% endif %}",
            "{{ nobody }}",
            &["{{ nobody }}"],
        ),
        (
            "{% set x = nobody.a %}{{ name }}",
            "{% set x = nobody.a %}{{ name }}",
            &["{% set x = nobody.a %}{{ name }}"],
        ),
        (
            "{{ name|no_such_filter }}",
            "{{ name|no_such_filter }}",
            &["{{ name|no_such_filter }}"],
        ),
        (
            "{{ no_such_function(1) }}",
            "{{ no_such_function(1) }}",
            &["{{ no_such_function(1) }}"],
        ),
    ] {
        leaves(source, wanted, blocks);
    }
}

#[test]
fn what_asks_for_a_missing_value_sees_that_it_is_missing() {
    prints(
        "{{ nobody|default('x') }} {{ user.age|default(7) }} {{ nil|default('y') }}",
        "x 7 None",
    );
    prints(
        "{{ nobody is defined }} {{ name is defined }} {{ nobody is undefined }}",
        "False True True",
    );
    prints(
        "{% if nobody %}a{% else %}b{% endif %} {{ nobody or 'c' }} {{ 'd' if nobody else 'e' }}",
        "b c e",
    );
    prints(
        "{% if not nobody %}x{% endif %}{{ nobody and 1 or 2 }}",
        "x2",
    );
}

#[test]
fn blocks_that_cannot_be_read_stay() {
    for (source, wanted, blocks) in [
        (
            "{{ name }} {{ a b }}",
            "Alice {{ a b }}",
            &["{{ a b }}"][..],
        ),
        ("{{ }} {{ name }}", "{{ }} Alice", &["{{ }}"]),
        ("{{ name ", "{{ name ", &["{{ name "]),
        ("{{ 'open }}", "{{ 'open }}", &["{{ 'open }}"]),
        (
            "{{ _secret }} {{ user._x }} {{ name.__class__ }}",
            "{{ _secret }} {{ user._x }} {{ name.__class__ }}",
            &["{{ _secret }}", "{{ user._x }}", "{{ name.__class__ }}"],
        ),
        (
            "{{ _guarded(0) }}",
            "{{ _guarded(0) }}",
            &["{{ _guarded(0) }}"],
        ),
        (
            "{% if _secret %}x{% endif %}",
            "{% if _secret %}x{% endif %}",
            &["{% if _secret %}", "{% endif %}"],
        ),
        (
            "{% set a = _secret %}{{ name }}",
            "{% set a = _secret %}Alice",
            &["{% set a = _secret %}"],
        ),
        (
            "{% if yes %}{{ name }}",
            "{% if yes %}{{ name }}",
            &["{% if yes %}"],
        ),
        (
            "{% include 'secret.txt' %}x",
            "{% include 'secret.txt' %}x",
            &["{% include 'secret.txt' %}"],
        ),
        (
            "{% import 'm' as m %}x",
            "{% import 'm' as m %}x",
            &["{% import 'm' as m %}"],
        ),
        (
            "{% extends 'm' %}x",
            "{% extends 'm' %}x",
            &["{% extends 'm' %}"],
        ),
        (
            "{% nonsense %}{{ name }}",
            "{% nonsense %}{{ name }}",
            &["{% nonsense %}"],
        ),
    ] {
        leaves(source, wanted, blocks);
    }
    let faults = Template::new("ab {{ name }} {{ a b }}").faults();
    let found: Vec<(usize, usize)> = faults
        .iter()
        .map(|fault| (fault.at, fault.length))
        .collect();
    assert_eq!(found, [(14, 9)]);
    assert!(
        Template::new("{{ nobody }} {% for x in y %}{{ x }}{% endfor %}")
            .faults()
            .is_empty()
    );
}

#[test]
fn a_block_alone_keeps_the_type_of_its_value() {
    let context = context();
    let nothing = Object::new();
    let values = Values {
        context: object(&context),
        beside: &nothing,
    };
    for (source, wanted) in [
        ("{{ n }}", json!(15)),
        (" {{ yes }} ", json!(true)),
        ("{{ nil }}", Value::Null),
        ("{{ user.tags }}", json!(["a", "b"])),
        ("{{ user.profile }}", json!({ "name": "Bob" })),
        ("{{ name }}", json!("Alice")),
        ("{{ n + 1 }}", json!(16)),
        ("no. {{ n }}", json!("no. 15")),
        ("{{ n }}{{ n }}", json!("1515")),
        ("plain", json!("plain")),
        ("{{ nobody|default(none) }}", Value::Null),
    ] {
        let found = Template::new(source).value(values, Missing::Fails).unwrap();
        assert_eq!((found.result, found.left), (wanted, Vec::new()), "{source}");
    }
    for source in ["{{ nobody }}", "{{ a b }}", "{{ user._x }}"] {
        let found = Template::new(source).value(values, Missing::Stays).unwrap();
        assert_eq!((found.result, found.left.len()), (json!(source), 1));
        assert!(Template::new(source).value(values, Missing::Fails).is_err());
    }
}

#[test]
fn nothing_is_unbounded() {
    for (source, reason) in [
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{{ b }}{% endfor %}{% endfor %}",
            "steps",
        ),
        ("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", ""),
        (
            "{% for a in range(9000) %}{{ 'x' * 10000 }}{% endfor %}",
            "steps",
        ),
    ] {
        for missing in [Missing::Stays, Missing::Fails] {
            match rendered(source, missing) {
                Err(found) => assert!(found.contains(reason), "{source}: {found}"),
                Ok(found) => assert!(
                    reason.is_empty() && found.result.len() < 1_000_000,
                    "{source}"
                ),
            }
        }
    }
}

#[test]
fn the_names_of_a_template_are_those_it_does_not_set() {
    let source = "{{ a.b }} {% for x in y %}{{ x }}{{ loop.index }}{% endfor %}{% set z = 1 %}{{ z }}{{ range(3) }}";
    assert_eq!(Template::new(source).names(), ["a", "y"]);
}

#[test]
fn left_blocks_are_told_once_each_with_the_reason() {
    let found = rendered(
        "{% for f in files %}{{ nobody }}{% endfor %}",
        Missing::Stays,
    )
    .unwrap();
    let left = UnrenderedBlock {
        block: "{{ nobody }}".to_owned(),
        reason: "it has no value".to_owned(),
    };
    assert_eq!(found.left, [left]);
}

proptest! {
    #[test]
    fn text_without_marks_is_itself(text in "[^{}\r\n]{0,40}") {
        let found = rendered(&text, Missing::Fails).unwrap();
        prop_assert_eq!(found.result, text);
    }

    #[test]
    fn no_value_is_rendered_again(value in r"[{}% a-z#\n-]{0,24}") {
        let context = json!({ "v": value.clone(), "a": "LEAK" });
        let nothing = Object::new();
        let values = Values { context: object(&context), beside: &nothing };
        let found = Template::new("<{{ v }}>").render(values, Missing::Fails).unwrap();
        prop_assert_eq!(found.result, format!("<{value}>"));
    }

    #[test]
    fn any_pieces_are_rendered_or_stay(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "{{", "}}", "{%", "%}", "{#", "#}", "-", " ", "\n", "name", "nobody", "if", "endif", "for", "x", "in",
                "endfor", "set", "=", "files", "'", "\"", "|", "upper", ".", "raw", "endraw", "é", "(", ")", "_", "call",
            ]),
            0..24,
        )
    ) {
        let source = pieces.concat();
        let _ = Template::new(source.as_str()).names();
        let _ = rendered(&source, Missing::Fails);
        let found = rendered(&source, Missing::Stays);
        prop_assert!(found.is_ok(), "{:?}", found);
    }
}
