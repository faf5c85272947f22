//! Removing restores any file exactly.

use std::fs;

use interlock_clients::{
    ClientId,
    install::{HookState, events},
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

use crate::install::place::{Project, state, text};

/// Returns any JSON value, nested a few levels.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äé\\n\"\\\\]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(Value::from),
            object(inner).prop_map(Value::from),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec(("[a-z\"é{]{1,6}", inner), 1..4).prop_map(|members| members.into_iter().collect())
}

/// Returns settings that contain hooks of others, none of them empty.
fn settings(events: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let group = object(value()).prop_map(Value::from);
    let hooks = vec((0..events.len(), vec(group, 1..3)), 1..4).prop_map(|named| {
        let named = named.into_iter().map(|(event, groups)| {
            let name = events.get(event).copied().unwrap_or_default();
            (name.to_owned(), Value::from(groups))
        });
        Value::from(named.collect::<Map<_, _>>())
    });
    (object(value()), prop::option::of(hooks), 0_usize..4).prop_map(|(others, hooks, place)| {
        let mut members: Vec<(String, Value)> = others.into_iter().collect();
        let place = place.min(members.len());
        members.splice(place..place, hooks.map(|hooks| ("hooks".to_owned(), hooks)));
        Value::from(members.into_iter().collect::<Map<_, _>>())
    })
}

/// Returns a client whose hooks are in JSON, and settings for it.
fn any_settings() -> impl Strategy<Value = (ClientId, Value)> {
    let clients = [
        ClientId::ClaudeCode,
        ClientId::Codex,
        ClientId::Gemini,
        ClientId::Copilot,
        ClientId::Cursor,
    ];
    prop::sample::select(clients.to_vec())
        .prop_flat_map(|client| (Just(client), settings(events(client))))
        .prop_map(|(client, mut settings)| {
            // Without this number, the file would not be valid for the client.
            if matches!(client, ClientId::Copilot | ClientId::Cursor) {
                settings["version"] = json!(1);
            }
            (client, settings)
        })
}

/// Writes a value in one of the usual forms of JSON.
fn written(value: &Value, way: u8) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap();
    match way {
        0 => value.to_string(),
        1 => pretty,
        2 => format!("{pretty}\n"),
        3 => format!("\n{}\n\n", with_tabs(&pretty)),
        4 => format!("{}\r\n", pretty.replace('\n', "\r\n")),
        _ => format!("\u{feff}{} ", pretty.replace("\n", " ")),
    }
}

/// Indents with tabs; the content of strings is kept.
fn with_tabs(pretty: &str) -> String {
    let lines = pretty.lines().map(|line| {
        let rest = line.trim_start_matches(' ');
        "\t".repeat((line.len() - rest.len()) / 2) + rest
    });
    lines.collect::<Vec<_>>().join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn merged_and_removed_is_as_it_was((client, value) in any_settings(), way in 0_u8..6, known in any::<bool>()) {
        let before = written(&value, way);
        let project = Project::of(client);
        fs::create_dir_all(project.settings().parent().unwrap()).unwrap();
        fs::write(project.settings(), &before).unwrap();
        project.install();
        let merged = text(&project.settings()).unwrap();
        let merged: Value = serde_json::from_str(merged.trim_start_matches('\u{feff}')).unwrap();
        for event in events(client) {
            let state = state(&merged, event, &project);
            prop_assert!(matches!(state, HookState::Complete(_)), "{} in {}", event, merged);
        }
        prop_assert_eq!(project.plan(false), []);
        if !known {
            fs::remove_dir_all(project.directory.path().join("state")).unwrap();
        }
        project.remove();
        prop_assert_eq!(text(&project.settings()), Some(before));
    }
}
