//! The `interlock` command: parses arguments, calls, prints. It decides nothing.

mod answer;
mod app;
mod args;
mod authority;
mod commands;
mod complete;
mod demo;
mod durable;
mod failure;
mod findings;
mod live;
mod log_line;
mod origin;
mod output;
mod progress;
mod proved;
mod review;
mod standing;
mod telemetry;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run(std::env::args_os().collect())
}
