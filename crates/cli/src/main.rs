//! The `interlock` command: parses arguments, calls, prints. Decides nothing.

mod app;
mod args;
mod authority;
mod changes;
mod commands;
mod complete;
mod demo;
mod durable;
mod failure;
mod live;
mod output;
mod progress;
mod review;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::run(std::env::args_os().collect())
}
