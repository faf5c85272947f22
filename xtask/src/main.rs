//! The project's chores: `cargo xtask help` lists them. Each is one file.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to whoever called it"
)]

mod arguments;
mod bench;
mod book;
mod chores;
mod conformance;
mod console;
mod demo;
mod docs;
mod fleet;
mod fuzz;
mod journeys;
mod lint;
mod mutants;
mod npm;
mod package;
mod pip;
mod plugins;
mod scratch;
mod setup;
#[cfg(unix)]
mod signals;
mod soak;
mod steps;
mod tally;
mod test;
mod tools;
mod wasm;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(unix)]
    if let Err(error) = signals::restore() {
        eprintln!("xtask: {error:#}");
        return ExitCode::FAILURE;
    }
    match chores::run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
