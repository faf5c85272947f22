//! Judging by facts that only the caller can know: how a call is confined, and its size.

use interlock_core::{
    Reply,
    call::{CallFacts, CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
    decide,
    machine::Machine,
    refusal::Refusal,
};
use serde_json::{Value, json};

use crate::support::{call::call, started::started};

/// Judges a call with these facts under this policy; returns the code of the refusal, or an empty text.
fn judged(policy: &Value, kind: CallKind, tool: &str, given: &Value) -> String {
    match refused(policy, kind, tool, given) {
        Some(refusal) => refusal.code.as_str().to_owned(),
        None => String::new(),
    }
}

/// Judges a call with these facts under this policy; returns the refusal, if there is one.
fn refused(policy: &Value, kind: CallKind, tool: &str, given: &Value) -> Option<Refusal> {
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
        kind,
        facts: serde_json::from_value(facts).unwrap(),
        ..call("c", tool)
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
        Reply::Refused(refusal) | Reply::Ask(refusal) => Some(refusal),
        _ => None,
    }
}

/// Returns a command of these words, without other facts.
fn command(text: &str, class: &str) -> Value {
    let words: Vec<Value> = text
        .split(' ')
        .map(|word| json!({"literal": word}))
        .collect();
    json!({"words": words, "class": class, "opaque": "it runs code", "uses": vec![json!({"steers": "plain"}); words.len()]})
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
    // If there are rules, a shell line is refused by the rule about whole places.
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

#[test]
fn what_would_start_something_that_nothing_holds_passes_without_rules_or_by_its_own_name() {
    let listed = |tools: &[&str]| json!({"allowed_tools": tools});
    for (policy, kind, wanted) in [
        (json!({}), CallKind::Other, ""),
        (json!({}), CallKind::Edit, ""),
        (listed(&["Spawn"]), CallKind::Other, ""),
        (listed(&["Read", "Spawn"]), CallKind::Other, ""),
        // `*` does not name a tool, and a name does not apply to a tool of another kind.
        (listed(&["*"]), CallKind::Other, "tool_not_allowed"),
        (listed(&["Spaw?"]), CallKind::Other, "tool_not_allowed"),
        (listed(&["Spawn"]), CallKind::Edit, "tool_not_allowed"),
        (
            listed(&["Spawn"]),
            CallKind::Conversation,
            "tool_not_allowed",
        ),
        (
            json!({"disallowed_tools": ["Read"]}),
            CallKind::Other,
            "tool_not_allowed",
        ),
    ] {
        let unheld = json!({"unheld": "it is a program"});
        let found = judged(&policy, kind, "Spawn", &unheld);
        assert_eq!(found, wanted, "{policy} {kind:?}");
    }
}

#[test]
fn variables_and_files_of_secrets_are_known_by_their_names() {
    let policy = json!({"allowed_tools": ["Bash", "Edit"], "secrets": "deny"});
    let used = |name: &str| json!({"shell": {"env": {"used": [name]}}});
    let read = |path: &str| json!({"shell": {"reads": [{"path": {"whole": path}, "by": "cat"}]}});
    let words = |text: &str| {
        let mut command = command(text, "reader");
        command["hands_out"] = json!({"in_words": 1});
        command["opaque"] = json!(null);
        json!({"shell": {"commands": [command]}})
    };
    for (facts, is_secret) in [
        (used("API_KEY"), true),
        (used("OPENAI_API_KEY"), true),
        (used("DEPLOY_PRIVATE_KEY"), true),
        (used("GITHUB_TOKEN"), true),
        (used("API_KEY_FILE"), false),
        (used("MONKEY"), false),
        (used("PRIVATE"), false),
        (read("/proc/1/environ"), true),
        (read("/p/environ"), false),
        (read("/p/proc/environ"), false),
        (read("/etc/shadow"), true),
        (read("/p/shadow"), false),
        (words("git show HEAD:.env"), true),
        (words("git show HEAD:a"), false),
    ] {
        let found = judged(&policy, CallKind::Shell, "Bash", &facts);
        assert_eq!(found, if is_secret { "secret_read" } else { "" }, "{facts}");
    }
    // In code, a space separates words, too.
    let mut code = command("node -e x", "reader");
    code["words"][2] = json!({"literal": "open .env now"});
    code["hands_out"] = json!({"in_words": 1});
    code["opaque"] = json!(null);
    let facts = json!({"shell": {"commands": [code]}});
    assert_eq!(
        judged(&policy, CallKind::Shell, "Bash", &facts),
        "secret_read"
    );
}

#[test]
fn a_variable_passes_before_a_listed_command_where_an_entry_has_it() {
    let entries = |texts: &[&str]| {
        let entries: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
        json!({"allowed_tools": ["Bash", "Edit"], "allowed_commands": entries})
    };
    let line = |set: &str, changes: bool| {
        let mut command = command("npm test", "project_code");
        command["assignments"] = json!([set]);
        command["wrapped"] = json!([{"literal": "env"}, {"literal": format!("{set}=1")}, {"literal": "npm"}, {"literal": "test"}]);
        json!({"shell": {"commands": [command], "env": {"set": [{"name": set, "changes_programs": changes}]}}})
    };
    for (listed, set, changes, wanted) in [
        (&["npm test"][..], "MODE", false, "shell_unreadable"),
        (&["env MODE=1 npm test"], "MODE", false, ""),
        (&["npm test", "env MODE=1 npm test"], "MODE", false, ""),
        (&["env MODE=1 npm test", "npm test"], "MODE", false, ""),
        (
            &["env MODE=1 npm test"],
            "OTHER",
            false,
            "command_not_allowed",
        ),
        // Changes of programs are refused even if listed.
        (
            &["npm test", "env PATH=1 npm test"],
            "PATH",
            true,
            "shell_unreadable",
        ),
    ] {
        let found = judged(
            &entries(listed),
            CallKind::Shell,
            "Bash",
            &line(set, changes),
        );
        assert_eq!(found, wanted, "{listed:?} {set}");
    }
}

#[test]
fn beside_what_only_a_person_lists_no_variable_changes_programs() {
    let policy = json!({"allowed_tools": ["Bash", "Edit"]});
    for (class, set, wanted) in [
        ("system", true, "shell_unreadable"),
        ("privilege", true, "shell_unreadable"),
        ("system", false, ""),
        ("privilege", false, ""),
        // Without a list and without a person's entry, the kernel confines the effect of a variable.
        ("project_code", true, ""),
    ] {
        let mut line = json!({"shell": {"commands": [command("make install", class)]},
            "allowed_by_person": [{"text": "make install"}]});
        if set {
            line["shell"]["env"] = json!({"set": [{"name": "PATH", "changes_programs": true}]});
        }
        let found = judged(&policy, CallKind::Shell, "Bash", &line);
        assert_eq!(found, wanted, "{class} {set}");
    }
}

#[test]
fn a_refusal_of_the_network_says_what_would_pass() {
    let fetches = json!({"allowed_tools": ["Bash", "WebFetch"]});
    let reads = json!({"allowed_tools": ["Bash", "Read"]});
    for (policy, direction, wanted) in [
        (&fetches, "get", None),
        (&reads, "get", Some("it passes where")),
        (&fetches, "send", Some("fetch with GET")),
        (&reads, "send", Some("let a person list")),
        (&fetches, "listen", Some("fetch with GET")),
        (&reads, "local", None),
    ] {
        let line = json!({"shell": {"network": [{"direction": direction, "by": "curl x"}]}});
        let found = refused(policy, CallKind::Shell, "Bash", &line).map(|refusal| refusal.message);
        let fits = match (&found, wanted) {
            (Some(message), Some(part)) => message.contains(part),
            (found, wanted) => found.is_none() && wanted.is_none(),
        };
        assert!(fits, "{policy} {direction}: {found:?}");
    }
}
