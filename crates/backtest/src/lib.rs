//! A workflow against sessions that really happened.
//!
//! A recorded session says which calls were made, and not where in a workflow they would have been made. So the
//! states are found: the placement that refuses the fewest calls, by a shortest path over the calls and the states
//! that `prove` tells apart. Each step of it is one of the real `decide` and `evolve`. Nothing runs, and nothing is
//! looked at on the disk.

mod align;
mod calls;
mod cost;
mod follow;
mod nodes;
mod options;
mod report;
mod rules;
mod told;
mod verdict;

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

/// A workflow that sessions are placed in.
#[derive(Debug)]
pub struct Backtester {
    calls: Calls,
    nodes: Nodes,
    rules: Rules,
    options: Options,
}

impl Backtester {
    /// Reads a machine.
    ///
    /// # Errors
    /// Says what of it cannot be followed yet.
    pub fn new(machine: &Machine, options: Options) -> Result<Self, String> {
        Ok(Self {
            calls: Calls::default(),
            nodes: Nodes::new(machine)?,
            rules: Rules::of(machine),
            options,
        })
    }

    /// Places a session; `scenario` is where it took place.
    ///
    /// Pure: the same session in the same place gives the same answer.
    pub fn place(&mut self, session: &Session, scenario: &Scenario) -> Backtest {
        let calls = self.calls.of(session, scenario);
        let path = align::align(&mut self.nodes, &mut self.rules, &calls, self.options);
        let placed = (path, self.options);
        report::of(&mut self.nodes, &mut self.rules, session, &calls, placed)
    }

    /// Returns what mattered of the rules, and ends.
    #[must_use]
    pub fn into_rules(self) -> Rules {
        self.rules
    }

    /// Returns what mattered of the rules in all sessions so far.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }
}
