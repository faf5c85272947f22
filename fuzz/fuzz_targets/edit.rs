//! Any text as a workflow file, and operations at places of it: carried out with nothing else changed, or refused.

#![cfg_attr(fuzzing, no_main)]

use interlock_edit::{Operation, Place, edit};
use interlock_formats::{NoWorkflows, Node, Source, Tree};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    for name in ["w.json", "w.yaml"] {
        let source = Source::new(name, text);
        let Ok(tree) = Tree::read(&source) else {
            continue;
        };
        let mut places = Vec::new();
        add(&tree.root, "", &mut places);
        let states = tree.root.get("states").map(|entry| entry.value.entries());
        let state = states.and_then(|states| states.first());
        let name = state.map(|entry| entry.key.clone()).unwrap_or_default();
        let mut all = vec![
            Operation::AddState {
                name: "new state".to_owned(),
                state: None,
                place: Some(Place::First),
            },
            Operation::RenameState {
                name: name.clone(),
                to: "other: name".to_owned(),
            },
            Operation::MoveState {
                name: name.clone(),
                place: Place::Last,
            },
            Operation::RemoveState {
                name,
                with_transitions: true,
            },
        ];
        for at in places {
            all.push(Operation::Set {
                at: at.clone(),
                value: json!("two\nlines"),
            });
            all.push(Operation::Set {
                at: at.clone(),
                value: json!({"a": [1, "b: c"]}),
            });
            all.push(Operation::Set {
                at: format!("{at}/-"),
                value: json!(null),
            });
            all.push(Operation::Rename {
                at: at.clone(),
                to: "# key".to_owned(),
            });
            all.push(Operation::Remove { at });
        }
        for operation in all {
            // What is accepted was checked: here it only must not fail.
            let _ = edit(&source, None, &[operation], &NoWorkflows);
        }
    }
});

/// Adds the first places of a file.
fn add(node: &Node, at: &str, all: &mut Vec<String>) {
    let keys = node.entries().iter().map(|entry| {
        (
            entry.key.replace('~', "~0").replace('/', "~1"),
            &entry.value,
        )
    });
    let items = node
        .items()
        .iter()
        .enumerate()
        .map(|(index, item)| (index.to_string(), item));
    for (word, child) in keys.chain(items) {
        if all.len() > 20 {
            return;
        }
        let at = format!("{at}/{word}");
        all.push(at.clone());
        add(child, &at, all);
    }
}
