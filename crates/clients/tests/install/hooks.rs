//! Requirements for a hook to be effective.

use interlock_clients::{
    ClientId,
    install::{HookState, events},
};
use serde_json::{Value, json};

use crate::install::place::{Project, state, text};

#[test]
fn every_hook_blocks_on_failure_and_has_no_matcher() {
    let project = Project::new();
    project.install();
    let settings: Value = serde_json::from_str(&text(&project.settings()).unwrap()).unwrap();
    for event in events(ClientId::ClaudeCode) {
        let stops = ["PreToolUse", "PreSkillShellCommand"].contains(event);
        let mut groups = settings["hooks"][event].clone();
        let line = groups[0]["hooks"][0]["command"].take();
        assert_eq!(
            groups,
            json!([{ "hooks": [{
                "type": "command",
                "command": null,
                "timeout": if stops { 86_400 } else { 10 },
                "onFailure": "block",
            }] }])
        );
        let line = line.as_str().unwrap();
        assert!(
            line.contains("'/opt/my tools/interlock' hook claude-code"),
            "{line}"
        );
        assert_eq!(line.contains("exit 2"), stops, "{line}");
        let state = state(&settings, event, &project);
        assert!(matches!(state, HookState::Complete(_)), "{event}");
    }
}

#[test]
fn what_weakens_a_hook_makes_it_incomplete() {
    let whole = json!({
        "type": "command", "command": "interlock hook claude-code", "onFailure": "block",
    });
    let weakened = [
        ("onFailure", json!("continue")),
        ("async", json!(true)),
        ("once", json!(true)),
        ("if", json!("Bash(git *)")),
    ];
    let project = Project::new();
    let state_of = |groups: &[Value]| {
        let settings = json!({ "hooks": { "PreToolUse": groups } });
        state(&settings, "PreToolUse", &project)
    };
    let state = |group: Value| state_of(&[group]);
    assert!(matches!(
        state(json!({ "hooks": [whole.clone()] })),
        HookState::Complete(_)
    ));
    for (key, value) in weakened {
        let mut hook = whole.clone();
        hook[key] = value;
        assert_eq!(
            state(json!({ "hooks": [hook] })),
            HookState::Incomplete,
            "{key}"
        );
    }
    let narrow = json!({ "matcher": "Bash|Edit", "hooks": [whole] });
    assert_eq!(state(narrow.clone()), HookState::Incomplete);
    // A whole one besides is sufficient, wherever it is.
    let group = json!({ "hooks": [whole] });
    for groups in [
        [narrow.clone(), narrow.clone(), group.clone()],
        [group, narrow.clone(), narrow],
    ] {
        assert!(matches!(state_of(&groups), HookState::Complete(_)));
    }
    let other = json!({ "hooks": [{ "command": "true; interlock hook claude-code" }] });
    assert_eq!(state(other), HookState::Missing);
}
