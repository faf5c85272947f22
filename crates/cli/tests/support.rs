//! What several of the tests use.

pub(crate) mod case_file;
