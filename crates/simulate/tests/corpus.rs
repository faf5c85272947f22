//! One test per file: every case of the corpus and of the shipped workflows.
//!
//! To add a case, add a file below `tests/cases`.

use std::{error::Error, fmt, path::Path};

use interlock_formats::{NoWorkflows, Source, load, render};
use interlock_simulate::{Scenario, cases::play_file};

/// An error that is printed unquoted, because the harness prints the debug form.
struct Shown(String);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Shown {}

fn case_file(path: &Path) -> datatest_stable::Result<()> {
    let machine = |name: &str, text: &str| {
        load(&Source::new(name, text), None, &NoWorkflows)
            .map(|loaded| loaded.machine)
            .map_err(|diagnostics| render(&diagnostics, false))
    };
    let outcomes = play_file(path, &Scenario::default(), &machine)
        .map_err(|error| Shown(error.to_string()))?;
    let failures: String = outcomes
        .iter()
        .filter(|outcome| outcome.failure.is_some())
        .map(ToString::to_string)
        .collect();
    if outcomes.is_empty() {
        return Err(Shown("the file has no case".to_owned()).into());
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Shown(failures).into())
    }
}

datatest_stable::harness! {
    { test = case_file, root = "../../tests/cases", pattern = r"\.test\.yaml$" },
    { test = case_file, root = "../../workflows", pattern = r"\.test\.yaml$" },
}
