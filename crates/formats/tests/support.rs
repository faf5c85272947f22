//! Shared code of the tests.

pub(crate) mod corpus;
pub(crate) mod mutations;
