//! The graph of a run, with where it stands and which way it took.

use std::sync::Mutex;

use interlock_core::{machine::Machine, names::RunId};
use interlock_fleet::RunGraph;
use interlock_graph::{Graph, Trace, View};
use interlock_store::EventLog as _;
use serde_json::Value;

use super::{
    batch::Live,
    problem::Problem,
    state::{ServerState, lock},
};
use crate::tenant::Tenant;

/// Maximum number of runs whose way is in memory.
const RUNS_MAX: usize = 32;

/// The way that a run took, as of so many events, and its drawing.
#[derive(Default)]
struct Followed {
    seq: u64,
    trace: Trace,
    /// The drawing, with the hash of the machine that it is of.
    scene: Option<(String, Value)>,
}

impl Followed {
    /// Returns the drawing of a machine; the layout of a large one takes a while.
    fn scene(&mut self, machine: &Machine) -> Value {
        match &self.scene {
            Some((hash, scene)) if *hash == machine.hash => scene.clone(),
            _ => {
                // Without marks, so that it stays the same while the run goes on.
                let graph = Graph::of(machine, None, &[]).viewed(&View::default());
                let scene = graph.scene();
                self.scene = Some((machine.hash.clone(), scene.clone()));
                scene
            }
        }
    }
}

/// The ways of runs that were shown last.
#[derive(Default)]
pub(crate) struct Graphs(Mutex<Vec<((Tenant, RunId), Followed)>>);

impl Graphs {
    fn take(&self, key: &(Tenant, RunId)) -> Followed {
        let mut all = lock(&self.0);
        let place = all.iter().position(|(known, _)| known == key);
        place.map(|at| all.remove(at).1).unwrap_or_default()
    }

    fn keep(&self, key: (Tenant, RunId), followed: Followed) {
        let mut all = lock(&self.0);
        all.retain(|(known, _)| *known != key);
        all.push((key, followed));
        let many = all.len().saturating_sub(RUNS_MAX);
        all.drain(..many);
    }
}

/// Returns the graph of a run.
pub(crate) fn graph(
    state: &ServerState,
    tenant: &Tenant,
    run: &RunId,
) -> Result<RunGraph, Problem> {
    let live = Live::load(state.open(tenant, run)?)?;
    let (machine, folded, _) = live.parts();
    let key = (tenant.clone(), run.clone());
    let mut known = state.graphs.take(&key);
    if known.seq < folded.seq {
        for recorded in live.log().events(known.seq) {
            let recorded = recorded?;
            if recorded.seq >= folded.seq {
                break;
            }
            known.trace.follow(&recorded.event);
            known.seq = recorded.seq + 1;
        }
    }
    let graph = RunGraph {
        seq: folded.seq,
        scene: known.scene(machine),
        marks: Graph::at(machine, Some(folded), &known.trace).marks(),
    };
    state.graphs.keep(key, known);
    Ok(graph)
}
