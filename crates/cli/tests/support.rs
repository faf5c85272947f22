//! Shared code of the tests.

pub(crate) mod case_file;
