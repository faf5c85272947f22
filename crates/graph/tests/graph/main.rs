//! Graphs of workflow files and of generated machines.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test panics"
)]

mod marked;
mod picture;
mod random;
mod scene;
mod viewed;
mod written;

use std::{fs, path::PathBuf};

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};

/// Returns a path in the sources of this crate.
fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Loads a workflow file.
fn machine(path: &str) -> Machine {
    let text = fs::read_to_string(file(path)).unwrap();
    let loaded = load(&Source::new(path, text), None, &NoWorkflows);
    loaded.expect("the workflow is in order").machine
}

/// The workflows of these tests.
const OWN: [&str; 4] = ["ship", "branches", "detour", "lines"];

fn own(name: &str) -> Machine {
    machine(&format!("tests/machines/{name}.yaml"))
}
