//! The facts of calls, the verdicts of each kind of state, and the confinement by the kernel are unchanged.
//!
//! `data/verdicts.txt` has a line for each group of calls: lines of `tests/shell`, `tests/habits` and `tests/dangers`,
//! and the arguments of each client's tools. After an intended change, `INTERLOCK_BLESS=1` rewrites the list; with
//! `INTERLOCK_FOUND=DIRECTORY`, everything is written there, for comparison with the previous revision.

mod lines;
mod places;
mod tools;

use std::path::Path;

use interlock_testkit::found::compare;

#[test]
fn each_line_is_seen_judged_and_held_as_it_was() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/verdicts.txt");
    compare(&list, &lines::found()).unwrap();
}

#[test]
fn each_tool_of_each_client_is_seen_as_it_was() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tools.txt");
    compare(&list, &tools::found()).unwrap();
}
