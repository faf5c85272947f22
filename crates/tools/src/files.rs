//! Files read, listed, looked through and written.

pub(crate) mod edit;
pub(crate) mod grep;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod walk;
pub(crate) mod write;
