//! What the program is called with.

use anyhow::{Context as _, Result, bail};

/// Those that take minutes: measured only where the folder of the peers is named.
const PEERS: &[&str] = &["steps", "pipeline", "checkers", "mine"];

/// Which programs are measured, and what of them.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// The program under test.
    pub(crate) interlock: String,
    /// The smallest program of the same language.
    pub(crate) hello: String,
    /// The script that measures the library beside the engine.
    pub(crate) beside: String,
    /// The script that drives a browser; empty: none is measured.
    pub(crate) browser: String,
    /// The MCP server that everyone stands in front of.
    pub(crate) fixture: String,
    /// The folder of those that runs are measured beside; then only those are measured.
    pub(crate) peers: String,
    /// What is chosen; all of it when empty.
    chosen: Vec<String>,
}

impl Arguments {
    /// Reads options and names.
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

    /// Returns whether the measurement is asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        if self.peers.is_empty() == PEERS.contains(&name) {
            return false;
        }
        self.chosen.is_empty() || self.chosen.iter().any(|chosen| chosen == name)
    }
}
