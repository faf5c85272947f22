//! The arguments of the program.

use anyhow::{Context as _, Result, bail};

/// Benchmarks that take minutes; they run only if the folder of the peers is given.
const PEERS: &[&str] = &["steps", "pipeline", "checkers", "mine"];

/// The programs to measure, and the chosen benchmarks.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// The program under test.
    pub(crate) interlock: String,
    /// The smallest Rust program.
    pub(crate) hello: String,
    /// The script that measures the library with which the engine is compared.
    pub(crate) beside: String,
    /// The script that drives a browser; empty if none is measured.
    pub(crate) browser: String,
    /// The MCP server behind all gateways.
    pub(crate) fixture: String,
    /// The folder of the peers of runs; if given, only the comparisons with them run.
    pub(crate) peers: String,
    /// The chosen benchmarks; empty for all.
    chosen: Vec<String>,
}

impl Arguments {
    /// Parses options and names.
    pub(crate) fn read(words: &[String], names: &[&str]) -> Result<Self> {
        let mut arguments = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let place = match word.as_str() {
                "--interlock" => &mut arguments.interlock,
                "--hello" => &mut arguments.hello,
                "--beside" => &mut arguments.beside,
                "--browser" => &mut arguments.browser,
                "--peers" => &mut arguments.peers,
                "--fixture" => &mut arguments.fixture,
                name if names.contains(&name) => {
                    arguments.chosen.push(word.clone());
                    continue;
                }
                _ => bail!("nothing is called `{word}`: there is {}", names.join(", ")),
            };
            *place = words.next().context("a path is missing")?.clone();
        }
        Ok(arguments)
    }

    /// Returns whether the benchmark is to run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        if self.peers.is_empty() == PEERS.contains(&name) {
            return false;
        }
        self.chosen.is_empty() || self.chosen.iter().any(|chosen| chosen == name)
    }
}
