//! Generated sessions for each workflow of the cases: their results are unchanged.
//!
//! `data/sessions.txt` has a line for each case file: a digest of all answers, records and views in its sessions. Some
//! sessions send the lines of the cases in another order, with ids, duplicated or left out; the others send what
//! clients, runners and people may send, to the workflow and to variants of it. After an intended change,
//! `INTERLOCK_BLESS=1` rewrites the list; with `INTERLOCK_FOUND=DIRECTORY`, every session is written there, for
//! comparison with the previous revision.

mod carried;
mod commands;
mod ended;
mod lines;
mod session;
mod source;
mod steps;
mod varied;

use std::collections::BTreeSet;

use interlock_testkit::{dice::Dice, found::compare};
use source::Material;

use crate::support::case_files::{self, case_files, root};

/// Number of generated machines of steps.
const STEPS: u64 = 128;
/// Number of machines per line of their list.
const IN_A_LINE: u64 = 8;

/// Returns all sessions of a workflow.
fn sessions(material: &Material) -> String {
    lines::play(material, 0) + &session::play(material, 0)
}

#[test]
fn sessions_made_up_for_each_workflow_come_to_what_they_did() {
    let mut machines = BTreeSet::new();
    let mut found = Vec::new();
    for cased in case_files() {
        // If two files test the same workflow, the first is sufficient.
        if machines.insert(cased.machine.clone().seal().hash) {
            let text = sessions(&Material::of(&cased));
            found.push((cased.name, text));
        }
    }
    let list = root().join("crates/simulate/tests/data/sessions.txt");
    compare(&list, &found).unwrap();
}

#[test]
fn sessions_of_made_up_machines_of_steps_come_to_what_they_did() {
    let mut found = Vec::new();
    for first in (0..STEPS).step_by(usize::try_from(IN_A_LINE).unwrap()) {
        let numbers = first..first + IN_A_LINE;
        let text: String = numbers.map(of_steps).collect();
        found.push((format!("steps/{first}"), text));
    }
    let list = root().join("crates/simulate/tests/data/sessions_of_steps.txt");
    compare(&list, &found).unwrap();
}

/// Returns the session of a generated machine.
fn of_steps(number: u64) -> String {
    let machine = steps::machine(&mut Dice::of("steps", number));
    let material = Material::of_steps(&format!("steps/{number}"), &machine);
    session::play(&material, number)
}
