//! Measures Interlock against its targets and prints one table. `cargo xtask bench` calls it.
//!
//! Every value is a median, and compared programs alternate, so that load on the machine slows both. This program is
//! never shipped.
#![expect(clippy::print_stdout, reason = "the table is the result")]

mod arguments;
mod backtest;
mod beside;
mod browser;
mod check;
mod console;
mod durable;
mod engine;
mod gateway;
mod log;
mod memory;
mod mine;
mod models;
mod process;
mod prove;
mod reader;
mod sample;
mod shell;
mod stages;
mod table;
mod workflow;
mod worst;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use arguments::Arguments;
use table::Table;

/// A benchmark: its name and its function.
type Measurement = (&'static str, fn(&Arguments, &mut Table) -> Result<()>);

const MEASUREMENTS: &[Measurement] = &[
    ("decide", engine::decide),
    ("shell", shell::judge),
    ("reader", reader::bounds),
    ("load", log::load),
    ("check", check::check),
    ("worst", worst::inputs),
    ("hook", process::hook),
    ("exec", process::exec),
    ("memory", memory::peak),
    ("console", console::console),
    ("browser", browser::page),
    ("prove", prove::proofs),
    ("backtest", backtest::sessions),
    ("models", models::turns),
    ("stages", stages::turns),
    ("branches", stages::branches),
    ("stdio", gateway::stdio),
    ("http", gateway::http),
    ("beside", beside::transitions),
    ("steps", durable::peers),
    ("pipeline", stages::langgraph),
    ("checkers", prove::checkers::beside),
    ("mine", mine::pm4py),
];

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(call) = memory::asked_for(&words) {
        return memory::report(call);
    }
    let names: Vec<&str> = MEASUREMENTS.iter().map(|(name, _)| *name).collect();
    let arguments = Arguments::read(&words, &names)?;
    let mut table = Table::default();
    for (name, measure) in MEASUREMENTS {
        if arguments.wants(name) {
            measure(&arguments, &mut table).with_context(|| format!("measuring `{name}`"))?;
        }
    }
    println!("{table}");
    Ok(if table.over() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
