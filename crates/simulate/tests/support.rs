//! Shared code of the tests.

pub(crate) mod case_files;
pub(crate) mod made_up_runs;
pub(crate) mod played_cases;
