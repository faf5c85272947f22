//! Random runs with calls unknown to the graph: each of their steps is a step of the graph.

use std::collections::BTreeSet;

use interlock_core::{machine::Machine, run::Run};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Scenario, Simulation};
use interlock_testkit::sample;
use serde_json::Value;

use super::{
    chance::{Chance, line, machine},
    errands, shipped,
};
use crate::{graph::Graph, hash::at, key::order_alike, machine::unsupported, model::Model};

/// A machine and its graph.
pub(super) struct Explored<'a> {
    what: &'a str,
    machine: &'a Machine,
    pub(super) model: Model,
    pub(super) graph: Graph,
    edges: BTreeSet<(usize, usize)>,
}

impl<'a> Explored<'a> {
    /// Explores up to `max` states; returns `None` if there are more.
    pub(super) fn new(what: &'a str, machine: &'a Machine, max: usize) -> Option<Self> {
        assert_eq!(unsupported(machine), None, "{what}");
        let model = Model::new(machine, Vec::new(), 4);
        let graph = Graph::explore(&model, &[], max);
        let edges = (0..graph.nodes.len())
            .flat_map(|from| graph.out(from).map(move |(_, edge)| (from, at(edge.to))))
            .collect();
        graph.whole.then_some(Self {
            what,
            machine,
            model,
            graph,
            edges,
        })
    }

    /// Returns whether a step of a run is one of the graph.
    ///
    /// A step that changes nothing needs no edge: a refusal, or a call whose trace no rule reads. One that also uses up
    /// a limit occurs as two edges: the same call again, until nothing is left.
    fn knows(&self, from: usize, to: usize) -> bool {
        let twice = || {
            let mut out = self.edges.range((from, 0)..(from + 1, 0));
            out.any(|(_, mid)| self.edges.contains(&(*mid, to)))
        };
        from == to || self.edges.contains(&(from, to)) || twice()
    }

    /// Returns the state of a run, which must be one step from another.
    fn expect_step(&self, from: usize, run: &Run, told: &str) -> usize {
        match self.step(from, run) {
            Ok(to) => to,
            Err(why) => panic!("{}: {why}\n{told}", self.what),
        }
    }

    /// Finds the state of a run, or the equivalent one in which other commands were seen.
    ///
    /// While a person is asked, the graph records no commands, but those seen before are included.
    fn find(&self, run: &Run) -> Option<usize> {
        let found = self.graph.find(&self.model, run);
        found.or_else(|| {
            let mut atlas = self.graph.atlas.borrow_mut();
            let mut state = atlas.state(&self.model, run);
            order_alike(&atlas.alike, &mut state.words);
            self.graph.keys.find(&state.packed()).map(at)
        })
    }

    /// Finds the state of a run, which must be one step from another.
    pub(super) fn step(&self, from: usize, run: &Run) -> Result<usize, String> {
        let Some(to) = self.find(run) else {
            let text = self.graph.text(&self.model, run);
            return Err(format!("no such state of the graph: {text}"));
        };
        let known = self.knows(from, to);
        known
            .then_some(to)
            .ok_or(format!("no such step {from} → {to}"))
    }

    /// Makes a run of this many steps, which `think` chooses; returns the number of steps that changed something.
    fn walk(&self, steps: usize, mut think: impl FnMut(&Simulation) -> Vec<Value>) -> usize {
        let mut simulation = Simulation::new(self.machine.clone(), Scenario::default());
        let mut at = self.graph.find(&self.model, simulation.run()).unwrap();
        let mut told = Vec::new();
        let mut moved = 0;
        for _ in 0..steps {
            for line in think(&simulation) {
                told.push(line.to_string());
                let answer = simulation.step(&line.to_string());
                if answer.is_ok_and(|answer| !answer.ok) {
                    break;
                }
            }
            let to = self.expect_step(at, simulation.run(), &told.join("\n"));
            moved += usize::from(at != to);
            at = to;
        }
        moved
    }
}

/// Returns the current branches of a run.
fn branches(simulation: &Simulation) -> Vec<String> {
    let leaves = simulation.run().open_leaves();
    let inner = leaves.iter().filter(|path| !path.is_root());
    inner.map(ToString::to_string).collect()
}

fn check_machine(seed: u64) -> (usize, usize) {
    let mut chance = Chance::of(seed);
    let text = machine(&mut chance);
    let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
        return (0, 0);
    };
    let what = format!("seed {seed}\n{text}");
    let Some(explored) = Explored::new(&what, &loaded.machine, 500) else {
        return (0, 0);
    };
    assert_eq!(explored.model.missed, Vec::<String>::new(), "{text}");
    for _ in 0..6 {
        explored.walk(25, |simulation| line(&mut chance, &branches(simulation)));
    }
    (1, 6 * 25)
}

/// Returns the seeds to play: the first ones, or those selected by the environment.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match (number("INTERLOCK_SEED"), number("INTERLOCK_RUNS")) {
        (Some(seed), runs) => seed..seed + runs.unwrap_or(1),
        (None, runs) => 1..runs.unwrap_or(count) + 1,
    }
}

#[test]
fn every_step_of_a_run_by_chance_is_a_step_of_the_graph() {
    let (mut machines, mut steps) = (0, 0);
    let seeds = seeds(24);
    let few = seeds.end - seeds.start < 24;
    for seed in seeds {
        let (machine, walked) = check_machine(seed);
        machines += machine;
        steps += walked;
    }
    // If too many machines do not load, the test is meaningless.
    assert!(
        few || (machines >= 8 && steps > 1_000),
        "{machines} machines, {steps} steps"
    );
}

/// Workflows whose graphs take several seconds.
const LARGE: [&str; 2] = ["migration.yaml", "release.yaml"];

#[test]
fn every_step_by_chance_of_a_shipped_workflow_is_a_step_of_its_graph() {
    let whole = sample::is_whole();
    for (name, machine) in shipped() {
        if LARGE.contains(&name.as_str()) && !whole {
            continue;
        }
        let explored = Explored::new(&name, &machine, 20_000).unwrap();
        let errands = errands::Errands::of(&machine);
        let mut moved = 0;
        for seed in seeds(12) {
            let mut chance = Chance::of(seed);
            moved += explored.walk(60, |simulation| errands.line(&mut chance, simulation.run()));
        }
        // Runs in which everything is refused would test nothing.
        assert!(moved >= 12, "{name}: {moved} steps");
    }
}
