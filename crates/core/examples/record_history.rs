//! Prints one generated run: its events, a line each, then the run they fold to.
//!
//! `cargo run -p interlock-core --example record_history SEED > tests/histories/vN-SEED.jsonl`
//! records a run of this version; from then on it must replay alike.

#![allow(dead_code, reason = "the generator serves the property tests, too")]
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a chore for developers"
)]

#[path = "../tests/properties/generate.rs"]
mod generate;

use generate::{command, machine};
use interlock_core::{decide, evolve, names::RunId, run::Run};
use interlock_testkit::dice::Dice;

fn main() {
    let seed = std::env::args()
        .nth(1)
        .and_then(|seed| seed.parse().ok())
        .expect("name a seed");
    let mut dice = Dice::of_seed(seed);
    let machine = machine(&mut dice);
    let mut run = Run::new(RunId::new("r"));
    for step in 0..60 {
        for event in decide(&machine, &run, &command(&mut dice, &machine, step)).events {
            println!(
                "{}",
                serde_json::to_string(&event).expect("an event is JSON")
            );
            run = evolve(run, &event);
        }
    }
    println!("{}", serde_json::to_string(&run).expect("a run is JSON"));
}
