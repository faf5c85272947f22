//! Sessions made up for each workflow of the cases: what they come to is what it was.
//!
//! `data/sessions.txt` has a line for each file of cases: how all that was answered, recorded and shown in its sessions
//! is hashed. Some sessions say the lines of the cases in another order, with ids, doubled or left out; the others ask
//! what clients, runners and people may ask, of the workflow and of ones that differ from it in a few things. Whoever
//! means a change writes the list anew with `INTERLOCK_BLESS=1`; with `INTERLOCK_FOUND=DIRECTORY` every session is
//! written there, to be compared with those of the revision before.

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

/// Machines of steps that are made up.
const STEPS: u64 = 128;
/// Machines in a line of their list.
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
        // Where two files test the same workflow, the first is enough.
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

/// Returns the session of a made-up machine.
fn of_steps(number: u64) -> String {
    let machine = steps::machine(&mut Dice::of("steps", number));
    let material = Material::of_steps(&format!("steps/{number}"), &machine);
    session::play(&material, number)
}
