//! Prints a run of the built program: its events, a line each, then the run they fold to.
//!
//! `cargo run -p interlock-store --example record_run STATE_DIRECTORY RUN > tests/histories/vN-NAME.jsonl` records a
//! run of this version; from then on it must replay alike.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a chore for developers"
)]

use interlock_core::{evolve, names::RunId, run::Run};
use interlock_store::{EventLog as _, Home};

fn main() {
    let mut words = std::env::args().skip(1);
    let mut word = |what: &str| words.next().expect(what);
    let home = word("name the state directory");
    let id = word("name the run");
    let log = Home::at(home)
        .open_run(&RunId::new(&id))
        .expect("the run can be opened");
    let mut run = Run::new(RunId::new("r"));
    for recorded in log.events(0) {
        let event = recorded.expect("the log can be read").event;
        let line = serde_json::to_string(&event).expect("an event is JSON");
        println!("{line}");
        run = evolve(run, &event);
    }
    println!("{}", serde_json::to_string(&run).expect("a run is JSON"));
}
