//! The keys by which an allow list and an earlier approval identify a call: one for each of its actions.

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    keys,
    names::{CallId, Digest},
};
use serde_json::{Value, json};

fn call(kind: CallKind, tool: &str, served_as: &[&str], given: &Value) -> ToolCall {
    let mut facts = json!(CallFacts::default());
    for (key, value) in given.as_object().unwrap() {
        facts[key] = value.clone();
    }
    ToolCall {
        id: CallId::new("c"),
        tool: tool.to_owned(),
        common: None,
        served_as: served_as.iter().map(|name| (*name).to_owned()).collect(),
        foreign: false,
        kind,
        digest: Digest::new("d"),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: serde_json::from_value(facts).unwrap(),
    }
}

#[test]
fn a_call_has_a_key_for_each_file_that_it_reads_or_writes() {
    let write = |path: Value, relative: Value| {
        json!({"path": path, "relative": relative, "place": "project", "by": "x", "removes": false, "recursive": false,
            "lines": null, "before": null})
    };
    let inside = |path: &str| write(json!(format!("/p/{path}")), json!(path));
    for (reads, writes, wanted) in [
        (json!([]), json!([]), json!(["Copy"])),
        (json!(["a"]), json!([]), json!(["Copy:a"])),
        (json!(["a", "b"]), json!([]), json!(["Copy:a", "Copy:b"])),
        (json!([]), json!([inside("a")]), json!(["Copy:a"])),
        (
            json!(["b"]),
            json!([inside("a")]),
            json!(["Copy:a", "Copy:b"]),
        ),
        (
            json!(["b", "c"]),
            json!([inside("a"), inside("d")]),
            json!(["Copy:a", "Copy:d", "Copy:b", "Copy:c"]),
        ),
        (json!(["a"]), json!([inside("a")]), json!(["Copy:a"])),
        (
            json!([]),
            json!([write(json!("/q/a"), json!(null))]),
            json!(["Copy:/q/a"]),
        ),
        // Its writes are unknown, so no list can contain it.
        (
            json!(["b"]),
            json!([write(json!(null), json!(null))]),
            json!(null),
        ),
    ] {
        let facts = json!({"reads": reads, "writes": writes});
        let found = keys(&call(CallKind::Other, "Copy", &[], &facts));
        assert_eq!(json!(found), wanted, "{reads} {writes}");
        let served = keys(&call(CallKind::Other, "mcp__s__t", &["s.t"], &facts));
        assert_eq!(json!(served), json!(["mcp__s__t"]), "of a server");
    }
}

#[test]
fn a_line_has_a_key_for_each_of_its_commands() {
    let command = |words: &[&str]| {
        let word = |word: &&str| match word.strip_prefix('$') {
            Some(_) => json!({"dynamic": word}),
            None => json!({"literal": word}),
        };
        let words: Vec<Value> = words.iter().map(word).collect();
        json!({"words": words, "class": "unknown"})
    };
    for (commands, wanted) in [
        (
            json!([command(&["git", "push", "-f"])]),
            json!(["Bash:git push"]),
        ),
        (
            json!([command(&["git", "-C", "x", "push"])]),
            json!(["Bash:git"]),
        ),
        (json!([command(&["ls"])]), json!(["Bash:ls"])),
        (
            json!([
                command(&["git", "status"]),
                command(&["rm", "a"]),
                command(&["ls", "-l"])
            ]),
            json!(["Bash:git status", "Bash:rm a", "Bash:ls"]),
        ),
        (json!([command(&["git", "$x"])]), json!(["Bash:git"])),
        (
            json!([command(&["ls"]), command(&["$x", "a"])]),
            json!(null),
        ),
        (json!([]), json!(null)),
    ] {
        let facts = json!({"shell": {"commands": commands}});
        let found = keys(&call(CallKind::Shell, "Bash", &[], &facts));
        assert_eq!(json!(found), wanted, "{commands}");
        let facts = json!({"shell": {"commands": commands, "unreadable": "it cannot be read"}});
        assert_eq!(
            keys(&call(CallKind::Shell, "Bash", &[], &facts)),
            None,
            "{commands}"
        );
    }
    assert_eq!(keys(&call(CallKind::Shell, "Bash", &[], &json!({}))), None);
}
