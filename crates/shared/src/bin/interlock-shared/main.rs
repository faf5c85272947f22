//! The `interlock-shared` command, which `interlock shared` starts: parses arguments, calls, prints.

mod args;
mod audits;
mod bundles;
mod collector;
mod commands;
mod keys;
mod login;
mod people;
mod serving;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::run(args::Cli::parse()) {
        Ok(code) => code,
        Err(error) => commands::refused(&*error),
    }
}
