//! Random operations: those of the command line, and those of the console's form.

use interlock_edit::{Operation, Place};
use interlock_formats::{Kind, Node, Tree};
use interlock_testkit::dice::Dice;
use serde_json::{Value, json};

/// Generates random operations.
pub(crate) struct Random {
    pub(crate) dice: Dice,
}

impl Random {
    pub(crate) fn operation(&mut self, tree: &Tree) -> Option<Operation> {
        let states = names(tree, "states");
        let guards = names(tree, "guards");
        let state = self.dice.pick(&states).cloned();
        let events = state
            .as_ref()
            .map(|state| keys(tree, &["states", state, "on"]))
            .unwrap_or_default();
        let event = self.dice.pick(&events).cloned();
        let fresh = format!("fresh {}", self.dice.below(100));
        Some(match self.dice.below(20) {
            0 => Operation::AddState {
                name: fresh,
                state: self.state(),
                place: self.place(&states),
            },
            1 => Operation::RenameState {
                name: state?,
                to: fresh,
            },
            2 => Operation::RemoveState {
                name: state?,
                with_transitions: self.dice.below(2) == 0,
            },
            3 => Operation::MoveState {
                name: state?,
                place: self.place(&states)?,
            },
            4 => Operation::SetTransition {
                state: state?,
                event: "NEW".to_owned(),
                to: self.value(),
            },
            5 => Operation::SetTransition {
                state: state?,
                event: event?,
                to: self.value(),
            },
            6 => Operation::RemoveTransition {
                state: state?,
                event: event?,
            },
            7 => Operation::RenameEvent {
                state: state?,
                event: event?,
                to: fresh,
            },
            8 => Operation::SetGuard {
                name: fresh,
                guard: json!({"field": "a", "op": "eq", "value": 1}),
            },
            9 => Operation::RenameGuard {
                name: self.dice.pick(&guards)?.clone(),
                to: fresh,
            },
            10 => Operation::RemoveGuard {
                name: self.dice.pick(&guards)?.clone(),
            },
            11 => Operation::Remove {
                at: self.place_in(tree),
            },
            // Operations of the console's form.
            16 => Operation::SetInitial {
                state: self.dice.pick(&states)?.clone(),
            },
            17 => Operation::SetGuard {
                name: self.dice.pick(&guards)?.clone(),
                guard: self.guard(&guards),
            },
            18 => Operation::SetTransition {
                state: state?,
                event: event?,
                to: self.transition(&states, &guards)?,
            },
            19 => Operation::Set {
                at: "/interrupts".to_owned(),
                value: json!({fresh: {"trigger": {"file_pattern": "src/**"}, "target": state?}}),
            },
            12 => Operation::Rename {
                at: self.place_in(tree),
                to: fresh,
            },
            13 => Operation::Set {
                at: format!("{}/added", self.place_in(tree)),
                value: self.value(),
            },
            14 => Operation::Set {
                at: format!("{}/-", self.place_in(tree)),
                value: self.value(),
            },
            _ => Operation::Set {
                at: self.place_in(tree),
                value: self.value(),
            },
        })
    }

    fn place(&mut self, states: &[String]) -> Option<Place> {
        let state = self.dice.pick(states)?.clone();
        Some(match self.dice.below(4) {
            0 => Place::First,
            1 => Place::Last,
            2 => Place::Before(state),
            _ => Place::After(state),
        })
    }

    fn state(&mut self) -> Option<Value> {
        let all = [
            None,
            Some(json!({"type": "final"})),
            Some(
                json!({"allowed_tools": ["Read"], "instructions": "Look.\nThen say.\n", "on": {"GO": {"target": "x", "guards": ["a", "b"]}}}),
            ),
        ];
        all[self.dice.below(3)].clone()
    }

    fn guard(&mut self, guards: &[String]) -> Value {
        let named = self.dice.pick(guards).cloned().unwrap_or_default();
        let all = [
            json!({"field": "a", "op": "not_exists"}),
            json!({"evidence": {"command": "cargo test", "since": "state_entry"}}),
            json!({"evidence": {"tool": "Read", "path": "docs/**"}}),
            json!({"not": named}),
            json!({"any": [named, {"field": "b", "op": "gte", "value": 3}]}),
            json!({"all": [{"not": {"field": "b", "op": "exists"}}]}),
        ];
        all[self.dice.below(all.len())].clone()
    }

    fn transition(&mut self, states: &[String], guards: &[String]) -> Option<Value> {
        let (one, other) = (
            self.dice.pick(states)?.clone(),
            self.dice.pick(states)?.clone(),
        );
        let all = [
            json!(one),
            json!({"target": one, "guards": [self.guard(guards)]}),
            json!([{"guard": self.guard(guards), "target": one}, {"target": other}]),
            json!({"fork": {"branches": {"first": {"initial": one, "terminal": other}}, "on_complete": other}}),
            json!({"invoke": "other", "input": {"a": 1}, "on_complete": one, "on_fail": other}),
            json!({"target": one, "requires_approval": true, "approval_message": "Sure: yes?"}),
        ];
        Some(all[self.dice.below(all.len())].clone())
    }

    fn value(&mut self) -> Value {
        let all = [
            json!(null),
            json!(true),
            json!(12),
            json!("plain"),
            json!("yes"),
            json!("a: b # c"),
            json!("two\nlines\n"),
            json!("two\n  lines"),
            json!(" \u{1}'\"\\"),
            json!([]),
            json!({}),
            json!(["Read", "Edit", "a,b"]),
            json!([{"guard": "g", "target": "x"}, {"target": "y", "guards": [{"all": ["a"]}]}]),
            json!({"target": "x", "requires_approval": true, "approval_message": "Sure?"}),
            json!({"a": {"b": {"c": [1, 2, [3]]}}, "d": "x\ny"}),
        ];
        all[self.dice.below(all.len())].clone()
    }

    fn place_in(&mut self, tree: &Tree) -> String {
        let mut all = Vec::new();
        places(&tree.root, "", &mut all);
        self.dice.pick(&all).cloned().unwrap_or_default()
    }
}

fn places(node: &Node, at: &str, all: &mut Vec<String>) {
    if let Kind::Map(entries) = &node.kind {
        for entry in entries {
            let at = format!("{at}/{}", entry.key.replace('~', "~0").replace('/', "~1"));
            all.push(at.clone());
            places(&entry.value, &at, all);
        }
    }
    for (index, item) in node.items().iter().enumerate() {
        let at = format!("{at}/{index}");
        all.push(at.clone());
        places(item, &at, all);
    }
}

fn names(tree: &Tree, key: &str) -> Vec<String> {
    keys(tree, &[key])
}

fn keys(tree: &Tree, path: &[&str]) -> Vec<String> {
    let found = path.iter().try_fold(&tree.root, |node, key| {
        node.get(key).map(|entry| &entry.value)
    });
    found
        .map(Node::entries)
        .unwrap_or_default()
        .iter()
        .map(|entry| entry.key.clone())
        .collect()
}
