//! Shared code of the tests.

pub(crate) mod call;
pub(crate) mod choice;
pub(crate) mod event_names;
pub(crate) mod started;
