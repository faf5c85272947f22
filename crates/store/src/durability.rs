//! Which failures the events of a run survive.

/// Which failures a run's events survive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Killing a process; a power loss may lose the last events.
    #[default]
    Process,
    /// Power loss, too, at a cost of some milliseconds for each append.
    Power,
}

impl Durability {
    /// Returns the word for the setting in stores.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Power => "power",
        }
    }

    /// Returns the setting for a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Process, Self::Power]
            .into_iter()
            .find(|durability| durability.word() == word)
    }
}
