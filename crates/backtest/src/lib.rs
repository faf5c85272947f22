//! Judges a workflow against recorded sessions.
//!
//! A recorded session contains the calls, but not the states of a workflow in which they would have been made. So the states are
//! searched: the placement that refuses the fewest calls, by a shortest path over the calls and the states that `prove`
//! distinguishes. Each step of it is one of the real `decide` and `evolve`. Nothing is run, and the disk is not accessed.

mod align;
mod calls;
mod classes;
mod cost;
mod follow;
mod nodes;
mod options;
mod report;
mod rules;
mod told;
mod verdict;

#[cfg(test)]
mod tests;

pub use calls::made;
pub use options::Options;
pub use report::{Backtest, Placed, Refused, Stay, Stop};
pub use rules::Rules;
pub use verdict::Verdict;

use calls::Calls;
use interlock_core::machine::Machine;
use interlock_sessions::Session;
use interlock_simulate::Scenario;

use nodes::Nodes;

/// A workflow in which sessions are placed.
#[derive(Debug)]
pub struct Backtester {
    calls: Calls,
    nodes: Nodes,
    rules: Rules,
    options: Options,
}

impl Backtester {
    /// Prepares a machine.
    ///
    /// # Errors
    /// Returns what of it is not supported yet.
    pub fn new(machine: &Machine, options: Options) -> Result<Self, String> {
        Ok(Self {
            calls: Calls::new(machine),
            nodes: Nodes::new(machine)?,
            rules: Rules::of(machine),
            options,
        })
    }

    /// Places a session; `scenario` is where it took place.
    ///
    /// Pure: the same session in the same scenario gives the same answer.
    pub fn place(&mut self, session: &Session, scenario: &Scenario) -> Backtest {
        let calls = self.calls.of(session, scenario);
        let path = align::align(&mut self.nodes, &mut self.rules, &calls, self.options);
        let placed = (path, self.options);
        report::of(&mut self.nodes, &mut self.rules, session, &calls, placed)
    }

    /// Returns the effects of the rules, consuming the backtester.
    #[must_use]
    pub fn into_rules(self) -> Rules {
        self.rules
    }

    /// Returns the effects of the rules in all sessions so far.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }
}
