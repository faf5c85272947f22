//! Every case of the corpus, played.

#[path = "case_files.rs"]
mod case_files;

use interlock_core::{event::Event, machine::Machine};
use interlock_simulate::Scenario;

/// A case, and what is recorded where it is played.
pub(crate) struct PlayedCase {
    /// Its file from the root of the repository, then what it is called.
    pub(crate) name: String,
    pub(crate) events: Vec<Event>,
}

/// Plays every case with a machine that `prepare` has been given first.
pub(crate) fn played_cases(prepare: impl Fn(Machine) -> Machine) -> Vec<PlayedCase> {
    let mut all = Vec::new();
    for cased in case_files::case_files() {
        let machine = prepare(cased.machine);
        for case in &cased.file.cases {
            all.push(PlayedCase {
                name: format!("{}: {}", cased.name, case.name),
                events: case.recorded(&machine, &Scenario::default()),
            });
        }
    }
    all
}
