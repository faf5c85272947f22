//! Finds where a native workflow names its states and its guards.

use interlock_formats::{Kind, Node};

use crate::path::Path;

/// A place that names a state.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    /// Where the name is written.
    pub(crate) at: Path,
    /// The state that contains it; `None` if the workflow itself contains it.
    pub(crate) state: Option<String>,
    /// The part of the workflow that names it, where no state does.
    pub(crate) by: By,
    /// The transition that can be removed without any other change: an event, or a branch of it.
    pub(crate) transition: Option<Path>,
}

impl Named {
    /// Describes what names it, for people.
    pub(crate) fn says(&self) -> String {
        match &self.state {
            Some(state) => format!("the state `{state}` leads to it here"),
            None => match self.by {
                By::Initial => "runs begin in it".to_owned(),
                By::Interrupt => "an interrupt leads to it here".to_owned(),
                By::Property => "a property names it here".to_owned(),
            },
        }
    }
}

/// The part of a workflow that names a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Initial,
    Interrupt,
    Property,
}

/// Returns every place that names a state, except its own key.
pub(crate) fn of_state(definition: &Node, name: &str) -> Vec<Named> {
    let mut finder = Finder {
        name,
        found: Vec::new(),
        state: None,
        by: By::Initial,
        transition: None,
    };
    finder.field(definition, &Path::default(), "initial");
    let states = Path::of(["states"]);
    for entry in entries(definition, "states") {
        let at = states.then(&entry.key);
        finder.state = Some(entry.key.clone());
        finder.field(&entry.value, &at, "safe_next");
        for event in entries(&entry.value, "on") {
            let at = at.then("on").then(&event.key);
            finder.transition = Some(at.clone());
            finder.transition(&event.value, &at);
            finder.transition = None;
        }
        finder.state = None;
    }
    finder.by = By::Interrupt;
    let interrupts = Path::of(["interrupts"]);
    for entry in entries(definition, "interrupts") {
        finder.field(&entry.value, &interrupts.then(&entry.key), "target");
    }
    for at in in_properties(definition, &["state", "enter", "only_in"], name) {
        finder.found.push(Named {
            at,
            state: None,
            by: By::Property,
            transition: None,
        });
    }
    finder.found
}

/// Returns every place in the properties that names an event.
pub(crate) fn of_event(definition: &Node, name: &str) -> Vec<Path> {
    in_properties(definition, &["event", "approved", "rejected"], name)
}

/// Returns how many states have an event.
pub(crate) fn states_with(definition: &Node, event: &str) -> usize {
    let states = entries(definition, "states").iter();
    states
        .filter(|state| entries(&state.value, "on").iter().any(|on| on.key == event))
        .count()
}

/// Returns the first text that refers to a stage's output by the stage's name.
pub(crate) fn of_output(definition: &Node, name: &str) -> Option<Path> {
    let said = [
        format!("upstream.{name}"),
        format!("upstream/{name}"),
        format!("upstream[\"{name}\"]"),
        format!("upstream['{name}']"),
    ];
    let mut found = Vec::new();
    texts(definition, &Path::default(), &mut |at, text| {
        let names = said.iter().any(|said| {
            text.match_indices(said.as_str()).any(|(begin, said)| {
                let next = text
                    .get(begin + said.len()..)
                    .and_then(|rest| rest.chars().next());
                !next.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '-')
            })
        });
        if names {
            found.push(at.clone());
        }
    });
    found.into_iter().next()
}

fn texts(node: &Node, at: &Path, visit: &mut impl FnMut(&Path, &str)) {
    if let Some(text) = node.text() {
        visit(at, text);
    }
    for entry in node.entries() {
        texts(&entry.value, &at.then(&entry.key), visit);
    }
    for (index, item) in node.items().iter().enumerate() {
        texts(item, &at.then(index.to_string()), visit);
    }
}

/// Returns every place below `properties` where one of these keys names something.
fn in_properties(definition: &Node, keys: &[&str], name: &str) -> Vec<Path> {
    let Some(properties) = definition.get("properties") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    texts(
        &properties.value,
        &Path::of(["properties"]),
        &mut |at, text| {
            if text == name && keys.iter().any(|key| at.names(key)) {
                found.push(at.clone());
            }
        },
    );
    found
}

struct Finder<'a> {
    name: &'a str,
    found: Vec<Named>,
    state: Option<String>,
    by: By,
    transition: Option<Path>,
}

impl Finder<'_> {
    fn text(&mut self, node: &Node, at: Path) {
        if node.text() == Some(self.name) {
            self.found.push(Named {
                at,
                state: self.state.clone(),
                by: self.by,
                transition: self.transition.clone(),
            });
        }
    }

    fn field(&mut self, node: &Node, at: &Path, key: &str) {
        if let Some(entry) = node.get(key) {
            self.text(&entry.value, at.then(key));
        }
    }

    fn transition(&mut self, node: &Node, at: &Path) {
        match &node.kind {
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let at = at.then(index.to_string());
                    // Removing the last branch removes its event.
                    if items.len() > 1 {
                        self.transition = Some(at.clone());
                    }
                    self.transition(item, &at);
                }
            }
            Kind::Map(_) => self.fields(node, at),
            _ => self.text(node, at.clone()),
        }
    }

    fn fields(&mut self, node: &Node, at: &Path) {
        self.field(node, at, "target");
        // The target of one of several ends cannot be removed alone; removing it would remove a whole fork or call.
        let kept = self.transition.take();
        for key in ["on_complete", "on_fail"] {
            self.field(node, at, key);
        }
        if let Some(fork) = node.get("fork") {
            let at = at.then("fork");
            for key in ["on_complete", "on_fail"] {
                self.field(&fork.value, &at, key);
            }
            let at = at.then("branches");
            for branch in entries(&fork.value, "branches") {
                for key in ["initial", "terminal"] {
                    self.field(&branch.value, &at.then(&branch.key), key);
                }
            }
        }
        self.transition = kept;
    }
}

/// Returns every place that refers to a guard by its name.
pub(crate) fn of_guard(definition: &Node, name: &str) -> Vec<Path> {
    let mut found = Vec::new();
    let guards = Path::of(["guards"]);
    for entry in entries(definition, "guards") {
        parts(&entry.value, &guards.then(&entry.key), name, &mut found);
    }
    let states = Path::of(["states"]);
    for entry in entries(definition, "states") {
        let at = states.then(&entry.key);
        if let Some(gate) = entry.value.get("gate") {
            asked(&gate.value, &at.then("gate"), name, &mut found);
        }
        for (index, part) in entry
            .value
            .get("assert")
            .map(|field| field.value.items())
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            parts(
                part,
                &at.then("assert").then(index.to_string()),
                name,
                &mut found,
            );
        }
        for event in entries(&entry.value, "on") {
            let at = at.then("on").then(&event.key);
            transition(&event.value, &at, name, &mut found);
        }
    }
    found.extend(in_properties(definition, &["guard"], name));
    found
}

fn transition(node: &Node, at: &Path, name: &str, found: &mut Vec<Path>) {
    for (index, item) in node.items().iter().enumerate() {
        transition(item, &at.then(index.to_string()), name, found);
    }
    for key in ["guard", "guards"] {
        if let Some(field) = node.get(key) {
            asked(&field.value, &at.then(key), name, found);
        }
    }
}

/// Searches a guard that may be a name, or a list of guards.
fn asked(node: &Node, at: &Path, name: &str, found: &mut Vec<Path>) {
    if node.text() == Some(name) {
        found.push(at.clone());
    }
    for (index, item) in node.items().iter().enumerate() {
        asked(item, &at.then(index.to_string()), name, found);
    }
    parts(node, at, name, found);
}

/// Searches the parts of a guard.
fn parts(guard: &Node, at: &Path, name: &str, found: &mut Vec<Path>) {
    for key in ["all", "any", "not"] {
        if let Some(field) = guard.get(key) {
            asked(&field.value, &at.then(key), name, found);
        }
    }
}

fn entries<'n>(node: &'n Node, key: &str) -> &'n [interlock_formats::Entry] {
    node.get(key)
        .map(|entry| entry.value.entries())
        .unwrap_or_default()
}
