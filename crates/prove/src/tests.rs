//! The graph against runs that were not made from it, and the table of steps against the engine.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a failed test panics, a seed may be named from outside, and other programs are asked"
)]

mod beside;
mod cases;
mod cells;
mod chance;
mod checkers;
mod edges;
mod errands;
mod monitors;
mod runs;
mod table;

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};

/// Loads every shipped workflow.
fn shipped() -> Vec<(String, Machine)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".yaml") && name.matches('.').count() == 1 {
            let source = Source::new(name.clone(), std::fs::read_to_string(&path).unwrap());
            found.push((name, load(&source, None, &NoWorkflows).unwrap().machine));
        }
    }
    assert_eq!(found.len(), 7);
    found
}
