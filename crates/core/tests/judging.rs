//! What is judged by facts that only the one who asks can know: how a call is held, what its size is.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use interlock_core::{
    Reply,
    call::{CallFacts, CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
    decide,
    machine::Machine,
    names::{CallId, Digest},
};
use serde_json::{Value, json};

use crate::support::started::started;

/// Judges a call with these facts under this policy; returns the code of a refusal, or nothing.
fn judged(policy: &Value, kind: CallKind, tool: &str, given: &Value) -> String {
    let machine: Machine = serde_json::from_value(json!({
        "id": "m", "initial": "work",
        "limits": interlock_core::machine::Limits::default(),
        "states": { "work": { "policy": policy, "on": {} } },
    }))
    .unwrap();
    let mut facts = json!(CallFacts::default());
    for (key, value) in given.as_object().unwrap() {
        facts[key] = value.clone();
    }
    let call = ToolCall {
        id: CallId::new("c"),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind,
        digest: Digest::new("d"),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: serde_json::from_value(facts).unwrap(),
    };
    let command = CommandKind::Propose(Box::new(call));
    match decide(
        &machine,
        &started(&machine),
        &Command {
            at_ms: 1,
            kind: command,
        },
    )
    .reply
    {
        Reply::Refused(refusal) | Reply::Ask(refusal) => refusal.code.as_str().to_owned(),
        _ => String::new(),
    }
}

#[test]
fn the_whole_environment_is_shown_where_nothing_in_it_is_blocked_or_it_is_held() {
    let blocked = json!({"allowed_tools": ["Bash", "Edit"], "blocked_env": ["KEY"]});
    let free = json!({});
    let open = json!({"allowed_tools": ["Bash", "Edit"]});
    let line = |env: Value, held: bool| json!({"shell": {"env": env}, "environment_held": held});
    for (policy, env, held, wanted) in [
        (&blocked, json!({"dump": true}), false, "env_blocked"),
        (&blocked, json!({"dump": true}), true, ""),
        (&blocked, json!({"dump": false}), false, ""),
        (&open, json!({"dump": true}), false, ""),
        (&blocked, json!({"used": ["KEY"]}), true, "env_blocked"),
        (&blocked, json!({"used": ["OTHER"]}), false, ""),
        (&open, json!({"other_process": true}), true, "env_blocked"),
        (
            &free,
            json!({"dump": true, "other_process": true}),
            false,
            "",
        ),
    ] {
        let found = judged(policy, CallKind::Shell, "Bash", &line(env.clone(), held));
        assert_eq!(found, wanted, "{policy} {env} {held}");
    }
}

#[test]
fn what_holds_protected_things_is_not_removed_by_any_tool() {
    let whole = |removes: bool| {
        json!({"writes": [{"path": "/p", "relative": "", "place": "whole", "by": "Delete", "removes": removes,
            "recursive": true, "lines": null, "before": null}]})
    };
    let writing = json!({"allowed_tools": ["Delete", "Edit", "Write"]});
    for (policy, removes, wanted) in [
        (&writing, true, "protected"),
        (&writing, false, "outside_project"),
        (&json!({}), true, "protected"),
        (&json!({}), false, ""),
    ] {
        let found = judged(policy, CallKind::Edit, "Delete", &whole(removes));
        assert_eq!(found, wanted, "{policy} {removes}");
    }
    // Where there are rules, a shell line is told by the rule about whole places what it may not do.
    for (policy, wanted) in [
        (&json!({}), "protected"),
        (&json!({"allowed_tools": ["Bash"]}), "outside_project"),
    ] {
        let found = judged(policy, CallKind::Shell, "Bash", &whole(true));
        assert_eq!(found, wanted, "{policy}");
    }
}

#[test]
fn a_listed_program_writes_its_result_where_nothing_may_be_written_and_removes_nothing() {
    let policy = json!({"allowed_tools": ["Bash"], "allowed_commands": [{"text": "make", "words": ["make"]}]});
    for (class, by, removes, wanted) in [
        ("project_code", "make", false, ""),
        ("unknown", "make", false, ""),
        ("project_code", "make", true, "shell_write"),
        ("unknown", "make", true, "shell_write"),
        ("project_code", "other", false, "shell_write"),
    ] {
        let command = json!({"words": [{"literal": "make"}], "class": class, "opaque": "it runs the project's code"});
        let line = json!({
            "shell": {"commands": [command]},
            "writes": [{"path": "/p/a", "relative": "a", "place": "project", "by": by, "removes": removes,
                "recursive": false, "lines": null, "before": null}],
        });
        let found = judged(&policy, CallKind::Shell, "Bash", &line);
        assert_eq!(found, wanted, "{class} {by} {removes}");
    }
}

#[test]
fn an_edit_of_unknown_size_passes_no_limit() {
    let limited = json!({"allowed_tools": ["Edit"], "edit_lines_max": 3});
    for (kind, lines, wanted) in [
        (CallKind::Edit, json!(3), ""),
        (CallKind::Edit, json!(4), "edit_too_large"),
        (CallKind::Edit, json!(null), "edit_too_large"),
        (CallKind::Other, json!(null), ""),
    ] {
        let found = judged(&limited, kind, "Edit", &json!({"edit_lines": lines}));
        assert_eq!(found, wanted, "{kind:?} {lines}");
    }
    let free = json!({"allowed_tools": ["Edit"]});
    let unknown = json!({"edit_lines": null});
    assert_eq!(judged(&free, CallKind::Edit, "Edit", &unknown), "");
}

#[test]
fn a_call_of_several_parts_needs_each_of_them_and_none_that_is_disallowed() {
    let policy = |allowed: &[&str], disallowed: &[&str]| json!({"allowed_tools": allowed, "disallowed_tools": disallowed});
    let all = &["Edit", "Write", "Delete"][..];
    for (allowed, disallowed, parts, wanted) in [
        (all, &[][..], &["Edit", "Write"][..], ""),
        (all, &[], &["Write"], ""),
        (&["Edit"], &[], &["Edit"], ""),
        (&["Edit"], &[], &["Edit", "Write"], "tool_not_allowed"),
        (&["Edit"], &[], &["Write", "Edit"], "tool_not_allowed"),
        (&["Edit"], &[], &[], "tool_not_allowed"),
        (all, &["Delete"], &["Edit", "Write"], ""),
        (all, &["Delete"], &["Edit", "Delete"], "tool_disallowed"),
        (all, &["Delete"], &["Delete", "Edit"], "tool_disallowed"),
        (all, &["Delete"], &["Delete"], "tool_disallowed"),
        // The name of the call itself counts as well.
        (&["patch"], &[], &["Write"], ""),
        (
            &["patch"],
            &["Write"],
            &["Edit", "Write"],
            "tool_disallowed",
        ),
        (all, &["patch"], &["Edit"], "tool_disallowed"),
    ] {
        let policy = policy(allowed, disallowed);
        let found = judged(&policy, CallKind::Edit, "patch", &json!({"parts": parts}));
        assert_eq!(found, wanted, "{policy} {parts:?}");
    }
}

#[test]
fn nobody_is_asked_about_interlocks_own_tools() {
    use ControlTool::{CreateWorkflow, GetState, ListWorkflows, Pause, Start, Transition};
    for policy in [
        json!({}),
        json!({"allowed_tools": [], "on_denied": "ask"}),
        json!({"allowed_tools": [], "on_denied": "deny"}),
        json!({"disallowed_tools": ["interlock_pause"], "on_denied": "ask"}),
        json!({"allowed_tools": [], "iterations_max": 0, "on_denied": "ask"}),
    ] {
        for (tool, code) in [
            (GetState, ""),
            (ListWorkflows, ""),
            (Transition, ""),
            (Pause, ""),
            (CreateWorkflow, ""),
            (Start, "run_open"),
        ] {
            let kind = CallKind::Control(tool);
            let found = judged(&policy, kind, "interlock_pause", &json!({}));
            assert_eq!(found, code, "{policy}: {tool:?}");
        }
    }
}
