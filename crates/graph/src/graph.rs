//! The graph of a machine and of the machines it calls.

use interlock_core::{event::Event, machine::Machine, names::MachineId, run::Run};

use crate::{
    describe,
    marks::{Marks, Trace},
    plot::{Id, Plot, plot},
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
    /// The key by which calls name it; `None` for the outermost.
    pub(crate) key: Option<MachineId>,
    /// Its id; `None` for the outermost.
    pub(crate) called: Option<String>,
    /// Its states and transitions.
    pub(crate) plot: Plot,
}

impl Graph {
    /// Makes the graph of `machine`, marked with the current states of `run` and the path it took.
    ///
    /// `events` are those of the run from its beginning, in order; events that are not
    /// moves are skipped. Every machine that is called follows the first.
    #[must_use]
    pub fn of(machine: &Machine, run: Option<&Run>, events: &[Event]) -> Self {
        let mut trace = Trace::default();
        for event in events {
            trace.follow(event);
        }
        Self::at(machine, run, &trace)
    }

    /// Makes the graph of `machine`, marked with the current states of `run` and what `trace` has followed.
    #[must_use]
    pub fn at(machine: &Machine, run: Option<&Run>, trace: &Trace) -> Self {
        let marks = Marks::of(run, trace);
        let panel = |key: Option<&MachineId>, machine: &Machine| Panel {
            key: key.cloned(),
            called: key.map(|_| machine.id.to_string()),
            plot: plot(machine, key, &marks),
        };
        let called = machine.machines.iter();
        let mut graph = Self {
            title: machine.id.to_string(),
            about: describe::about(machine),
            panels: std::iter::once(panel(None, machine))
                .chain(called.map(|(key, machine)| panel(Some(key), machine)))
                .collect(),
        };
        graph.number();
        graph
    }

    /// Numbers nodes and edges: the same ones of the same machine always get the same numbers.
    fn number(&mut self) {
        let mut numbers = 0..;
        let mut open: Vec<&mut Plot> = self
            .panels
            .iter_mut()
            .map(|panel| &mut panel.plot)
            .collect();
        while let Some(Plot { nodes, edges }) = open.pop() {
            let ids = nodes.iter_mut().map(|node| &mut node.id);
            let ids = ids.chain(edges.iter_mut().map(|edge| &mut edge.id));
            for (id, number) in ids.zip(&mut numbers) {
                *id = Some(Id::of(number));
            }
            let branches = nodes.iter_mut().flat_map(|node| &mut node.branches);
            open.extend(branches.map(|branch| &mut branch.plot));
        }
    }
}
