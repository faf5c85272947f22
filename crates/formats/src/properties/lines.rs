//! In which line of a workflow its states, transitions and guards are written.

use crate::{
    node::Node,
    opened::Opened,
    source::{Files, Source},
};

/// The lines of the parts of a native workflow; of other formats none is known.
#[derive(Debug)]
pub struct Lines {
    files: Files,
    tree: Option<Node>,
}

impl Lines {
    /// Reads a file as far as its syntax goes.
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

    /// Returns the line of what an event of a state leads to.
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
