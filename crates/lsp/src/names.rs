//! The states and guards of a file, with their places.

use std::ops::Range;

use interlock_formats::{Entry, Node, Source, Tree};

/// The depth up to which nested states are searched.
const DEPTH_MAX: usize = 8;
/// The number of characters of a state's text that are shown.
const TEXT_MAX: usize = 300;

/// What a file defines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    pub(crate) states: Vec<Named>,
    pub(crate) guards: Vec<Named>,
}

/// A state or a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    /// The bytes of its name.
    pub(crate) at: Range<usize>,
    /// The bytes of its whole definition.
    pub(crate) whole: Range<usize>,
    /// The bytes of its workflow; a file may contain several.
    pub(crate) scope: Range<usize>,
    /// What is known about it, in one or a few lines.
    pub(crate) about: String,
    /// Its transitions by event, each with its place.
    pub(crate) events: Vec<(String, Range<usize>)>,
}

impl Names {
    /// Reads the names of a file; `None` if its syntax is broken.
    pub(crate) fn of(source: &Source) -> Option<(Self, &'static str)> {
        let tree = Tree::read(source).ok()?;
        let mut names = Self::default();
        let definitions = match tree.format {
            "native" => tree.definitions(),
            _ => vec![(None, Vec::new())],
        };
        for (_, path) in definitions {
            let mut node = &tree.root;
            for word in &path {
                if let Some(entry) = node.get(word) {
                    node = &entry.value;
                }
            }
            names.add(node, source, DEPTH_MAX);
        }
        Some((names, tree.format))
    }

    /// Adds what a workflow defines, including the workflows within it.
    fn add(&mut self, definition: &Node, source: &Source, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let scope = span(definition);
        for key in ["states", "stages"] {
            let Some(entry) = definition.get(key) else {
                continue;
            };
            for state in entry.value.entries() {
                let whole = state.key_span.start..state.value.span.end.max(state.key_span.end);
                let at = state.key_span.start..state.key_span.end;
                self.states
                    .push(named(&state.key, (at, whole, &scope), &state.value));
                self.add_below(&state.value, source, depth);
            }
            for state in entry.value.items() {
                let Some(id) = state.get("id") else {
                    continue;
                };
                if let Some(name) = id.value.text() {
                    let place = (span(&id.value), span(state), &scope);
                    self.states.push(named(name, place, state));
                }
            }
        }
        let guards = definition.get("guards").map(|entry| entry.value.entries());
        for guard in guards.unwrap_or_default() {
            self.guards.push(guard_of(guard, source, &scope));
        }
        let machines = definition
            .get("machines")
            .map(|entry| entry.value.entries());
        for machine in machines.unwrap_or_default() {
            self.add(&machine.value, source, depth);
        }
    }

    /// Adds the states within a state: what runs for each item, or in each branch.
    fn add_below(&mut self, state: &Node, source: &Source, depth: usize) {
        if let Some(arguments) = state.get("arguments") {
            self.add(&arguments.value, source, depth);
        }
    }

    /// Finds the state that a name refers to at a byte.
    pub(crate) fn state(&self, name: &str, from: usize) -> Option<&Named> {
        meant(&self.states, name, from)
    }

    /// Finds the guard that a name refers to at a byte.
    pub(crate) fn guard(&self, name: &str, from: usize) -> Option<&Named> {
        meant(&self.guards, name, from)
    }
}

/// Finds the name in the innermost workflow around `from` that defines it; elsewhere if none of them does.
fn meant<'n>(all: &'n [Named], name: &str, from: usize) -> Option<&'n Named> {
    let of_name = || all.iter().filter(|one| one.name == name);
    of_name()
        .filter(|one| one.scope.contains(&from))
        .min_by_key(|one| one.scope.len())
        .or_else(|| of_name().next())
}

fn named(
    name: &str,
    (at, whole, scope): (Range<usize>, Range<usize>, &Range<usize>),
    value: &Node,
) -> Named {
    let events = value.get("on").map(|entry| entry.value.entries());
    let events = events.unwrap_or_default().iter();
    Named {
        name: name.to_owned(),
        at,
        whole,
        scope: scope.clone(),
        about: about(value),
        events: events
            .map(|event| (event.key.clone(), event.key_span.start..event.key_span.end))
            .collect(),
    }
}

fn guard_of(guard: &Entry, source: &Source, scope: &Range<usize>) -> Named {
    let at = guard.key_span.start..guard.key_span.end;
    let whole = at.start..guard.value.span.end.max(at.end);
    let written = source
        .text
        .get(whole.clone())
        .unwrap_or_default()
        .trim_end();
    Named {
        name: guard.key.clone(),
        about: format!("```yaml\n{}\n```", cut(written)),
        at,
        whole,
        scope: scope.clone(),
        events: Vec::new(),
    }
}

/// Describes what a state does, from the fields of each format.
fn about(state: &Node) -> String {
    let mut lines = Vec::new();
    for key in ["description", "instructions", "task", "prompt", "goal"] {
        if let Some(text) = state.get(key).and_then(|entry| entry.value.text()) {
            lines.push(cut(text));
        }
    }
    for (key, what) in [
        ("type", "Type"),
        ("tool", "Tool"),
        ("model", "Model"),
        ("assistant_id", "Assistant"),
    ] {
        if let Some(text) = state.get(key).and_then(|entry| entry.value.text()) {
            lines.push(format!("{what}: `{text}`"));
        }
    }
    for (key, what) in [
        ("allowed_tools", "Tools"),
        ("allowedTools", "Tools"),
        ("allowed_commands", "Commands"),
    ] {
        let items = state.get(key).map(|entry| entry.value.items());
        let names = items.unwrap_or_default().iter().filter_map(Node::text);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        if !names.is_empty() {
            lines.push(format!("{what}: {}", names.join(", ")));
        }
    }
    lines.join("\n\n")
}

fn cut(text: &str) -> String {
    let text = text.trim();
    let mut kept: String = text.chars().take(TEXT_MAX).collect();
    if kept.len() < text.len() {
        kept.push('\u{2026}');
    }
    kept
}

fn span(node: &Node) -> Range<usize> {
    node.span.start..node.span.end.max(node.span.start)
}
