//! Places in a machine that findings are about.

use interlock_core::names::{EventName, GuardName, InterruptName, MachineId, StateName};

/// A place in a machine, or in one of the machines it calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Key of the called machine; `None`: the outermost.
    pub machine: Option<MachineId>,
    /// Where in that machine.
    pub place: Place,
}

/// A place in one machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The machine as a whole.
    Machine,
    /// The name of its first state.
    Initial,
    /// Its `meta`, or the field of it that is named.
    Meta(&'static str),
    /// A state.
    State(StateName),
    /// One tool of a state's list of allowed ones.
    AllowedTool(StateName, usize),
    /// One tool of a state's list of disallowed ones.
    DisallowedTool(StateName, usize),
    /// One entry of a state's list of commands.
    AllowedCommand(StateName, usize),
    /// Where a state leads when it does not know an event.
    SafeNext(StateName),
    /// An event of a state.
    Event(StateName, EventName),
    /// All the events of a state.
    Events(StateName),
    /// The target of one transition of an event.
    Target(StateName, EventName, usize),
    /// A guard or a part of one.
    Guard(GuardSite),
    /// The parts of a guard that is composed.
    GuardItems(GuardSite),
    /// The operator of a guard that compares.
    GuardOperator(GuardSite),
    /// The value a guard compares with.
    GuardValue(GuardSite),
    /// The field a guard reads.
    GuardField(GuardSite),
    /// The first state of a branch of a composite state.
    BranchInitial(StateName, String),
    /// The state whose entry is a branch's success.
    BranchTerminal(StateName, String),
    /// The machine a composite state calls.
    CalledMachine(StateName),
    /// The pattern of an interrupt.
    Pattern(InterruptName),
    /// The handler of an interrupt.
    Handler(InterruptName),
}

/// A guard, or a part of one that is composed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GuardSite {
    /// Where the outermost guard is written.
    pub root: GuardRoot,
    /// Which part of which part of it, counted from 0.
    pub part: Vec<usize>,
}

/// Where a guard is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum GuardRoot {
    /// Among the named ones.
    Named(GuardName),
    /// At a transition, as one of its guards.
    Transition {
        /// The state.
        state: StateName,
        /// The event.
        event: EventName,
        /// Which of the event's transitions.
        index: usize,
        /// Which of its guards.
        nth: usize,
    },
    /// Before a stage, as one of its guards.
    Gate(StateName, usize),
    /// Behind a stage, as one of its assertions.
    Assertion(StateName, usize),
}

impl GuardRoot {
    /// Returns the site of the whole guard.
    #[must_use]
    pub const fn whole(self) -> GuardSite {
        GuardSite {
            root: self,
            part: Vec::new(),
        }
    }
}

impl GuardSite {
    /// Returns the site of the part with this index.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        let mut part = self.part.clone();
        part.push(index);
        Self {
            root: self.root.clone(),
            part,
        }
    }
}
