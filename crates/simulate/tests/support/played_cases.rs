//! Every case of the corpus, played.

use interlock_core::{event::Event, machine::Machine};
use interlock_simulate::Scenario;

use super::case_files;

/// Plays every case with a machine changed by `prepare`, and returns the result of `of` for each.
///
/// The name of a case consists of its file relative to the root of the repository, and its own name.
pub(crate) fn played_cases<C>(
    prepare: impl Fn(Machine) -> Machine,
    of: impl Fn(String, &Machine, Vec<Event>) -> C,
) -> Vec<C> {
    let mut all = Vec::new();
    for cased in case_files::case_files() {
        let machine = prepare(cased.machine);
        for case in &cased.file.cases {
            let events = case.recorded(&machine, &Scenario::default());
            all.push(of(
                format!("{}: {}", cased.name, case.name),
                &machine,
                events,
            ));
        }
    }
    all
}
