//! The `interlock-worker` command, which `interlock worker` starts: parses arguments, calls, prints.

mod args;
mod commands;
mod companion;
mod notes;
mod secrets;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::run(args::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => commands::refused(&*error),
    }
}
