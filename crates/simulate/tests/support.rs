//! What several of the tests use.

pub(crate) mod case_files;
pub(crate) mod made_up_runs;
pub(crate) mod played_cases;
