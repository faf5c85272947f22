//! Tests of paths into values, and of nodes as a machine stores them.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_expr::text::ValueTemplate;
use serde_json::{Value, json};

use crate::{FieldRule, Mapping, Node as _, ToolWork, TransformNode, convert, path};
use interlock_core::machine::{NodeKind, Task, TaskKind};

#[test]
fn paths_lead_where_they_say() {
    let value = json!({"a": {"b": [1, 2, 3, 4], "c": {"d": "x"}}, "l": [[1], [2, 3]]});
    for (text, wanted) in [
        ("a.c.d", Some(json!("x"))),
        ("a.b[0]", Some(json!(1))),
        ("a.b[-1]", Some(json!(4))),
        ("a.b[-4]", Some(json!(1))),
        ("a.b[1:3]", Some(json!([2, 3]))),
        ("a.b[:2]", Some(json!([1, 2]))),
        ("a.b[-2:]", Some(json!([3, 4]))),
        ("a.b[::2]", Some(json!([1, 3]))),
        ("a.b[-9:1]", Some(json!([1]))),
        ("a.b[3:1]", Some(json!([]))),
        ("a.b[2:99]", Some(json!([3, 4]))),
        ("l[1][0]", Some(json!(2))),
        ("l.1.0", Some(json!(2))),
        ("a.b.9", None),
        ("a.b[4]", None),
        ("a.b[-5]", None),
        ("a.x", None),
        ("a[0]", None),
        ("a.b.c", None),
    ] {
        let steps = path::steps(text).unwrap();
        assert_eq!(path::find(&value, &steps), wanted, "{text}");
    }
    for text in [
        "", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[0]b", "a[]", "a[::-1]", "a.[0]",
    ] {
        assert_eq!(path::steps(text), None, "{text}");
    }
}

#[test]
fn a_node_is_kept_whole() {
    let tool = ToolWork {
        tool: "read_file".to_owned(),
        arguments: json!({"path": "{{ p }}"}).as_object().cloned(),
        ..ToolWork::default()
    };
    let made: Task = tool.task().unwrap();
    assert_eq!(made.kind, TaskKind::Node(NodeKind::ToolCall));
    let ValueTemplate::Plain(input) = made.input else {
        unreachable!("it has no holes");
    };
    assert_eq!(
        input,
        json!({"tool": "read_file", "arguments": {"path": "{{ p }}"}})
    );
    assert_eq!(serde_json::from_value::<ToolWork>(input).unwrap(), tool);
}

#[test]
fn values_take_the_type_that_a_schema_names() {
    let whole = json!({"type": "integer"});
    let any = json!({"type": "number"});
    for (given, schema, wanted) in [
        (json!(true), &whole, json!(1)),
        (json!(false), &any, json!(0)),
        (json!(" +7 "), &whole, json!(7)),
        (json!("7.0"), &whole, json!(7)),
        (json!("7.5"), &whole, json!("7.5")),
        (json!("-"), &whole, json!("-")),
        (json!([1]), &whole, json!([1])),
        (json!(null), &whole, json!(null)),
        (json!("1000"), &any, json!(1000)),
        (json!({}), &any, json!({})),
        (json!(" TRUE "), &json!({"type": "boolean"}), json!(true)),
        (json!("yes"), &json!({"type": "boolean"}), json!("yes")),
        (json!(1), &json!({"type": "boolean"}), json!(1)),
        (json!(7), &json!({"type": "string"}), json!("7")),
        (json!(null), &json!({"type": "string"}), json!(null)),
        (json!("7"), &json!({}), json!("7")),
    ] {
        let mut value = given.clone();
        convert::convert(&mut value, schema);
        assert_eq!(value, wanted, "{given} as {schema}");
    }
    let mut deep = json!({"a": {"n": "1"}, "b": "2", "c": "3"});
    let schema = json!({"properties": {
        "a": {"type": "object", "properties": {"n": whole}}, "b": any, "missing": whole,
    }});
    convert::fields(&mut deep, &schema);
    assert_eq!(deep, json!({"a": {"n": 1}, "b": 2, "c": "3"}));
}

#[test]
fn a_value_of_an_allowed_type_stays() {
    for (given, types, wanted) in [
        (json!(null), json!("null"), json!(null)),
        (json!("null"), json!("null"), json!(null)),
        (json!(null), json!(["string", "null"]), json!(null)),
        (json!("null"), json!(["string", "null"]), json!("null")),
        (json!("[1]"), json!("array"), json!([1])),
        (json!("{}"), json!("array"), json!("{}")),
        (json!("{\"a\": 1}"), json!("object"), json!({"a": 1})),
        (json!([1]), json!("object"), json!([1])),
        (json!("12"), json!(["integer", "array"]), json!(12)),
        (json!(1.5), json!("integer"), json!(1.5)),
        (json!(true), json!("integer"), json!(1)),
        (json!(7), json!("string"), json!(7)),
        (json!("7"), json!(7), json!("7")),
    ] {
        let mut value = given.clone();
        convert::fit(&mut value, &json!({"type": types}));
        assert_eq!(value, wanted, "{given} as {types}");
    }
}

#[test]
fn a_default_of_null_is_no_default() {
    let written = json!({"mappings": [{"field": "x", "rule": {"extract": {"path": "a"}}}]});
    let node: TransformNode = serde_json::from_value(written).unwrap();
    let rule = FieldRule::Extract {
        path: "a".to_owned(),
        default: Value::Null,
    };
    let field = "x".to_owned();
    assert_eq!(node.mappings, [Mapping { field, rule }]);
}
