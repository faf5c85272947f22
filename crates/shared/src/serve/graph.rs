//! The graph of a run, with where it stands and which way it took.

use std::sync::{Arc, Mutex};

use interlock_core::names::RunId;
use interlock_fleet::RunGraph;
use interlock_graph::{Graph, Trace, View};
use interlock_store::EventLog as _;

use super::{
    batch::Live,
    problem::Problem,
    state::{ServerState, lock},
};
use crate::tenant::Tenant;

/// Maximum number of runs whose way is in memory.
const RUNS_MAX: usize = 32;

/// The way that a run took, as of so many events.
#[derive(Debug, Default, Clone)]
struct Followed {
    seq: u64,
    trace: Trace,
}

/// The ways of runs that were shown last.
#[derive(Default)]
pub(crate) struct Graphs(Mutex<Vec<((Tenant, RunId), Arc<Followed>)>>);

impl Graphs {
    fn take(&self, key: &(Tenant, RunId)) -> Arc<Followed> {
        let mut all = lock(&self.0);
        let place = all.iter().position(|(known, _)| known == key);
        place.map(|at| all.remove(at).1).unwrap_or_default()
    }

    fn keep(&self, key: (Tenant, RunId), followed: Arc<Followed>) {
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
    let mut followed = state.graphs.take(&key);
    if followed.seq < folded.seq {
        let known = Arc::make_mut(&mut followed);
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
        // Without marks, so that it stays the same while the run goes on.
        scene: Graph::of(machine, None, &[])
            .viewed(&View::default())
            .scene(),
        marks: Graph::at(machine, Some(folded), &followed.trace).marks(),
    };
    state.graphs.keep(key, followed);
    Ok(graph)
}
