//! What several of the tests use.

pub(crate) mod corpus;
pub(crate) mod mutations;
