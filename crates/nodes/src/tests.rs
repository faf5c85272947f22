//! Tests of paths into values, and of nodes as a machine stores them.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_expr::text::ValueTemplate;
use serde_json::{Value, json};

use crate::{FieldRule, Mapping, Node as _, ToolWork, TransformNode, path};
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
