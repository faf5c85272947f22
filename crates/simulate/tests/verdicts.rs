//! What is seen in a call, what each kind of state says of it, and what the kernel would hold it to: all as it was.
//!
//! `data/verdicts.txt` has a line for each group of calls: lines of `tests/shell`, `tests/habits` and `tests/dangers`,
//! and the arguments of each client's tools. Whoever means a change writes the list anew with `INTERLOCK_BLESS=1`; with
//! `INTERLOCK_FOUND=DIRECTORY` all that was found is written there, to be compared with the revision before.

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
