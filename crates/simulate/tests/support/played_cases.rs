//! Every case of the corpus, played.

#[path = "case_files.rs"]
mod case_files;

use interlock_core::{event::Event, machine::Machine};
use interlock_simulate::Scenario;

#[allow(
    unused_imports,
    reason = "not every test that plays cases loads others"
)]
pub(crate) use case_files::{loaded, root};

/// Plays every case with a machine that `prepare` has been given first, and returns what `of` makes of each.
///
/// A case is named by its file from the root of the repository, then by what it is called.
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
