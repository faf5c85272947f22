//! What the events of a run survive.

/// What a run's events survive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// A killed process; after power loss the last events may be missing.
    #[default]
    Process,
    /// Power loss too, at some milliseconds an append.
    Power,
}

impl Durability {
    /// Returns the word that a store keeps of it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Power => "power",
        }
    }

    /// Finds the setting a word stands for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Process, Self::Power]
            .into_iter()
            .find(|durability| durability.word() == word)
    }
}
