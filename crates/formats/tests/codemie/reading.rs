//! Rules that no single file demonstrates.

use interlock_formats::{NoWorkflows, Source, check, codemie_schema, load};
use serde_json::json;

use crate::codemie::{Configuration, said};

const SOUND: &str = "assistants: [{id: x, system_prompt: Help}]\n\
    states:\n  - {id: a, assistant_id: x, task: Work, next: {state_id: end}}\n";

#[test]
fn a_sound_file_has_nothing_said_about_it() {
    assert!(said(SOUND, false).is_empty());
    assert!(said(SOUND, true).is_empty());
}

#[test]
fn strictness_turns_doubts_into_errors() {
    let text = SOUND.replace("{state_id: end}", "{}");
    assert_eq!(said(&text, false), ["3:48 warning empty_next"]);
    assert_eq!(said(&text, true), ["3:48 error empty_next"]);
}

#[test]
fn findings_point_into_the_file() {
    let text = "assistants: [{id: a, system_prompt: Help}]\nstates:\n  - {id: s, assistant_id: b, taks: x, next: {state_id: edn}}\n  - {id: t, assistant_id: a}\n";
    let found = check(&Source::new("case.yaml", text), &NoWorkflows);
    let paths: Vec<(&str, Option<&str>)> = found
        .iter()
        .map(|found| (found.code, found.path.as_deref()))
        .collect();
    let wanted = [
        ("undefined_assistant", Some("/states/0/assistant_id")),
        ("unknown_key", Some("/states/0/taks")),
        ("undefined_state", Some("/states/0/next/state_id")),
        ("missing_key", Some("/states/1")),
    ];
    assert_eq!(paths, wanted);
}

#[test]
fn json_of_the_same_shape_is_read() {
    let text = json!({
        "assistants": [{ "id": 1, "system_prompt": "Help" }],
        "recursion_limit": 7,
        "states": [{ "id": "a", "assistant_id": "1", "task": "Work", "next": { "state_id": "end" } }],
    });
    let source = Source::new("case.json", text.to_string());
    assert!(check(&source, &NoWorkflows).is_empty());
}

#[test]
fn the_schema_accepts_what_is_read_and_refuses_what_is_not() {
    let schema = jsonschema::validator_for(&codemie_schema()).unwrap();
    let state = json!({ "id": "a", "assistant_id": "x", "next": { "state_id": "end" } });
    let sound = json!({ "states": [state], "recursion_limit": 5, "retry_policy": null });
    assert!(schema.is_valid(&sound));
    assert!(schema.is_valid(&json!({ "name": "p", "execution_config": sound })));
    for wrong in [
        json!({ "states": [{ "id": "a", "next": { "state_id": "end" }, "colour": 1 }] }),
        json!({ "states": [{ "id": "a" }] }),
        json!({ "states": [state], "recursion_limit": 0 }),
        json!({}),
    ] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn every_key_of_a_policy_arrives() {
    let policy = "policy: {allowed_tools: [read_file], disallowed_tools: [Glob], on_denied: ask, max_iterations: 3, \
        max_edit_lines: 4, max_files_per_state: 5, context_budget_bytes: 6, allowed_commands: [npm test], \
        blocked_env: [SECRET], env_overrides: {CI: '1'}}";
    let text = SOUND
        .replace("task: Work", &format!("task: Work, {policy}"))
        .replace("Help", "Help, tools: [{name: read_file}]");
    let loaded = load(&Source::new("case.yaml", text), None, &NoWorkflows).unwrap();
    let state = loaded.machine.states.get("a").unwrap();
    assert_eq!(
        serde_json::to_value(&state.policy).unwrap(),
        json!({
            "allowed_tools": ["read_file"],
            "disallowed_tools": ["Glob"],
            "on_denied": "ask",
            "iterations_max": 3,
            "edit_lines_max": 4,
            "files_max": 5,
            "result_bytes_max": 6,
            "allowed_commands": [{"text": "npm test"}],
            "blocked_env": ["SECRET"],
            "env_overrides": {"CI": "1"},
        })
    );
}

#[test]
fn a_filter_may_be_a_text_with_an_entry_a_line() {
    let machine = |filter: &str| {
        let text = format!(
            "custom_nodes: [{{id: n, custom_node_id: generate_documents_tree, \
             config: {{datasource_id: handbook, documents_filter: {filter}}}}}]\n\
             states: [{{id: t, custom_node_id: n, next: {{state_id: end}}}}]\n"
        );
        let loaded = load(&Source::new("case.yaml", text), None, &Configuration).unwrap();
        serde_json::to_value(&loaded.machine.states).unwrap()
    };
    let listed = machine(r#"["*.md", "!draft.md"]"#);
    assert_eq!(machine(r#""*.md\n!draft.md""#), listed);
    assert_ne!(machine(r#""*.md""#), listed);
}

#[test]
fn an_agent_has_the_tools_it_is_given_and_no_more() {
    let allowed = |assistant: &str| {
        let text = format!(
            "assistants: [{{id: x, system_prompt: Help, {assistant}}}]\n\
             states: [{{id: a, assistant_id: x, task: Work, next: {{state_id: end}}}}]\n"
        );
        let loaded = load(&Source::new("case.yaml", text), None, &Configuration).unwrap();
        let policy = &loaded.machine.states.get("a").unwrap().policy;
        policy.allowed_tools.clone().unwrap_or_default()
    };
    let knowledge = ["search_knowledge_base", "get_document_by_id"];
    let server = "mcp_servers: [{name: s, config: {command: x}}]";
    for (assistant, wanted) in [
        ("tools: []", &[][..]),
        ("tools: [{name: read_file}]", &["read_file"]),
        ("datasource_ids: [handbook]", &knowledge),
        (
            "datasource_ids: [handbook], exclude_extra_context_tools: false",
            &knowledge,
        ),
        (
            "datasource_ids: [handbook], exclude_extra_context_tools: true",
            &[],
        ),
        (
            "tools: [{name: read_file}], datasource_ids: [handbook], exclude_extra_context_tools: true",
            &["read_file"],
        ),
        (server, &["mcp__s__*"]),
        (
            "mcp_servers: [{name: s, enabled: true, config: {command: x}}]",
            &["mcp__s__*"],
        ),
        (
            "mcp_servers: [{name: s, enabled: false, config: {command: x}}]",
            &[],
        ),
        (
            "mcp_servers: [{name: s, enabled: false, config: {command: x}}, {name: t, config: {command: x}}]",
            &["mcp__t__*"],
        ),
        // A name that is no word of a tool's name is changed in the same way everywhere.
        (
            "tools: [{name: my.server/search}], mcp_servers: [{name: my.server, config: {command: x}}]",
            &["mcp__my-server__search", "mcp__my-server__*"],
        ),
    ] {
        assert_eq!(allowed(assistant), wanted, "{assistant}");
    }
}
