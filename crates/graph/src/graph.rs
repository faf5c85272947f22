//! The graph of one machine, and of those it calls.

use interlock_core::{event::Event, machine::Machine, names::MachineId, run::Run};

use crate::{
    describe,
    marks::Marks,
    plot::{Plot, plot},
};

/// A machine as nodes and edges, ready to be written.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The machine's id.
    pub(crate) title: String,
    /// What the workflow says about itself.
    pub(crate) about: Vec<String>,
    /// The machine, then each one it calls.
    pub(crate) panels: Vec<Panel>,
}

/// One machine of a graph.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// Its id; `None`: it is the outermost.
    pub(crate) called: Option<String>,
    /// Its states and transitions.
    pub(crate) plot: Plot,
}

impl Graph {
    /// Makes the graph of `machine`, marked with where `run` stands and the way it took.
    ///
    /// `events` are those of the run from its beginning, in their order; what is no
    /// move among them is passed over. Every machine that is called follows the first.
    #[must_use]
    pub fn of(machine: &Machine, run: Option<&Run>, events: &[Event]) -> Self {
        let marks = Marks::of(run, events);
        let panel = |key: Option<&MachineId>, machine: &Machine| Panel {
            called: key.map(|_| machine.id.to_string()),
            plot: plot(machine, key, &marks),
        };
        let called = machine.machines.iter();
        Self {
            title: machine.id.to_string(),
            about: describe::about(machine),
            panels: std::iter::once(panel(None, machine))
                .chain(called.map(|(key, machine)| panel(Some(key), machine)))
                .collect(),
        }
    }
}
