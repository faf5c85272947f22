//! The lines of a workflow's states, transitions and guards.

use crate::{
    node::Node,
    opened::Opened,
    source::{Files, Source},
};

/// Lines of the parts of a native workflow; empty for other formats.
#[derive(Debug)]
pub struct Lines {
    files: Files,
    tree: Option<Node>,
}

impl Lines {
    /// Parses the syntax of a file.
    #[must_use]
    pub fn of(source: &Source) -> Self {
        let opened = Opened::new(source);
        Self {
            files: opened.files,
            tree: opened.tree,
        }
    }

    /// Returns the line of a state.
    #[must_use]
    pub fn state(&self, state: &str) -> Option<usize> {
        self.line(&["states", state])
    }

    /// Returns the line of the effect of an event of a state.
    #[must_use]
    pub fn event(&self, state: &str, event: &str) -> Option<usize> {
        self.line(&["states", state, "on", event])
            .or_else(|| self.state(state))
    }

    /// Returns the line of an interrupt.
    #[must_use]
    pub fn interrupt(&self, name: &str) -> Option<usize> {
        self.line(&["interrupts", name])
    }

    fn line(&self, keys: &[&str]) -> Option<usize> {
        let mut at = self.tree.as_ref()?;
        if let Some(definition) = at.get("definition") {
            at = &definition.value;
        }
        let mut span = None;
        for key in keys {
            let entry = at.get(key)?;
            span = Some(entry.key_span);
            at = &entry.value;
        }
        Some(self.files.line(span?)?.number)
    }
}
