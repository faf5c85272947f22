//! Compares the table of steps with asking the engine about each step.

use interlock_formats::{NoWorkflows, Predicate, Source, load};

use super::{
    chance::{Chance, branches, machine},
    shipped,
};
use crate::{
    explore::{Asking, explore},
    graph::Graph,
    hash::at,
    model::Model,
};

/// Writes every state of a graph with its steps, as numbers that do not depend on the exploration.
fn written(graph: &Graph) -> Vec<Vec<(usize, String)>> {
    let label = |number: u32| format!("{:?}", graph.label(number));
    let node = |node| {
        let steps = graph.out(node);
        steps
            .map(|(_, edge)| (at(edge.to), label(edge.label)))
            .collect()
    };
    (0..graph.nodes.len()).map(node).collect()
}

/// Explores with the table and without it; returns the number of questions to the engine each time.
fn check_table(what: &str, model: &Model, max: usize) -> (usize, usize) {
    let slots = model.slots.len();
    let pairs: Vec<(usize, usize)> = (1..slots).map(|slot| (slot - 1, slot)).collect();
    let (once, contradicted) = explore(model, &pairs, max, Asking::Once);
    assert!(!contradicted, "{what}");
    let (always, _) = explore(model, &pairs, max, Asking::Always);
    assert_eq!(once.nodes.len(), always.nodes.len(), "{what}");
    assert_eq!(once.whole, always.whole, "{what}");
    assert_eq!(once.starts, always.starts, "{what}");
    for node in 0..once.nodes.len() {
        let (one, other) = (&once.nodes[node], &always.nodes[node]);
        assert_eq!(one.ended, other.ended, "{what}");
        assert_eq!(one.exhausted, other.exhausted, "{what}");
        assert_eq!(once.together(node), always.together(node), "{what}");
    }
    let (one, other) = (written(&once), written(&always));
    for (node, (one, other)) in one.iter().zip(&other).enumerate() {
        assert_eq!(one, other, "{what}: state {node}");
    }
    (once.asked, always.asked)
}

/// Returns properties about states and guards, so that the table must store what they read.
fn slots(machine: &interlock_core::machine::Machine) -> Vec<Predicate> {
    let guards = machine
        .guards
        .keys()
        .map(|name| Predicate::Guard(name.to_string()));
    let states = machine
        .states
        .keys()
        .take(3)
        .map(|name| Predicate::State(name.to_string()));
    let mut all: Vec<Predicate> = guards.take(2).chain(states).collect();
    let both = all
        .iter()
        .take(2)
        .cloned()
        .chain([Predicate::Final(interlock_core::machine::Outcome::Success)]);
    all.push(Predicate::Any(both.collect()));
    all
}

#[test]
fn the_table_gives_the_graph_that_asking_for_each_step_gives() {
    let mut machines = 0;
    let mut saved = 0;
    for seed in 1..16_u64 {
        let mut chance = Chance::of(seed);
        let text = machine(&mut chance);
        let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
            continue;
        };
        let model = Model::new(&loaded.machine, slots(&loaded.machine), 4);
        let (once, always) = check_table(&format!("seed {seed}\n{text}"), &model, 100);
        machines += 1;
        saved += always.saturating_sub(once);
    }
    assert!(
        machines >= 6 && saved > 2_000,
        "{machines} machines, {saved} steps saved"
    );
}

#[test]
fn expansions_of_branches_are_repeated_as_the_engine_does_them() {
    for seed in 1..7_u64 {
        let text = branches(&mut Chance::of(seed));
        let loaded = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows);
        let machine = loaded.map(|loaded| loaded.machine).ok();
        let machine = machine.unwrap_or_else(|| panic!("seed {seed}\n{text}"));
        // With predicates about where a run stands, and without them.
        let slots = match seed % 2 {
            0 => slots(&machine),
            _ => Vec::new(),
        };
        let model = Model::new(&machine, slots, 4);
        let (once, always) = check_table(&format!("seed {seed}\n{text}"), &model, 90);
        assert!(once * 2 < always, "{once} of {always}\n{text}");
    }
}

#[test]
fn the_table_gives_the_same_graph_of_every_shipped_workflow() {
    for (name, machine) in shipped() {
        let model = Model::new(&machine, slots(&machine), 4);
        let (once, always) = check_table(&name, &model, 120);
        assert!(once < always, "{name}: {once} of {always}");
    }
}
