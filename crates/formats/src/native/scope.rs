//! Resolves the machine of an `invoke`.

use interlock_core::names::MachineId;

/// The machines that can be invoked from one definition, innermost first.
#[derive(Debug)]
pub(super) struct Scope<'s> {
    /// The enclosing definition.
    pub(super) outer: Option<&'s Self>,
    /// Machines by the ids that are visible here.
    pub(super) known: Vec<(String, Called)>,
}

/// What an id refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Called {
    /// The outermost machine itself.
    Root,
    /// A machine below the outermost one, by its key.
    Key(MachineId),
}

impl Scope<'_> {
    /// Returns what `id` refers to here; `None` if it is not in this file.
    pub(super) fn find(&self, id: &str) -> Option<&Called> {
        let here = self.known.iter().find(|(name, _)| name == id);
        match here {
            Some((_, called)) => Some(called),
            None => self.outer?.find(id),
        }
    }

    /// Returns every id that is visible here.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.known.iter().map(|(name, _)| name.as_str()).collect();
        names.extend(self.outer.iter().flat_map(|outer| outer.names()));
        names
    }
}
