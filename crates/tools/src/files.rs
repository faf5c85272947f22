//! Tools that read, list, search and write files.

pub(crate) mod edit;
pub(crate) mod grep;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod walk;
pub(crate) mod write;
