//! Every step of the graph is performed by a real run.

use std::collections::VecDeque;

use interlock_core::machine::{Machine, Object};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_testkit::sample;

use super::{chance, chance::Chance, runs::Explored, shipped};
use crate::{hash::at, moves::Act, replay::Player};

/// Maximum number of runs kept per state: one may still have what another has used up.
const OF_A_STATE: usize = 8;

/// Performs a step; returns `None` if it leads elsewhere because of what this run has used up.
fn taken<'a>(explored: &'a Explored<'_>, player: &Player<'a>, edge: usize) -> Option<Player<'a>> {
    let (model, graph) = (&explored.model, &explored.graph);
    let found = graph.edge(edge).unwrap();
    let leads =
        |player: &Player<'_>| graph.find(model, player.simulation.run()) == Some(at(found.to));
    let whole = player.clone().along(graph, edge).ok().filter(leads);
    // A step that uses up a limit takes as many calls as this run has left.
    whole.or_else(|| {
        let act = &graph.label(found.label).unwrap().act;
        let Act::Call { times: all, .. } = act else {
            return None;
        };
        (1..*all).rev().find_map(|fewer| {
            let mut act = act.clone();
            if let Act::Call { times, .. } = &mut act {
                *times = fewer;
            }
            let mut next = player.clone();
            (next.step(&act).is_ok() && leads(&next)).then_some(next)
        })
    })
}

/// Performs each step of a machine's graph in a run that reached its beginning; returns the number of steps.
fn check_edges(what: &str, machine: &Machine, states_max: usize) -> Option<usize> {
    let explored = Explored::new(what, machine, states_max)?;
    let (model, graph) = (&explored.model, &explored.graph);
    let mut players: Vec<Vec<Player<'_>>> = vec![Vec::new(); graph.nodes.len()];
    let mut waiting = VecDeque::new();
    for (node, label) in &graph.starts {
        let data = match graph.labels[*label].act {
            Act::Start(data) => model.cells.data[data].clone(),
            _ => Object::new(),
        };
        waiting.push_back((*node, players[*node].len()));
        players[*node].push(Player::begin(model, data, None));
    }
    let mut done = vec![false; graph.steps()];
    while let Some((node, number)) = waiting.pop_front() {
        for (edge, to) in graph.out(node).collect::<Vec<_>>() {
            let to = at(to.to);
            if done[edge] && players[to].len() >= OF_A_STATE {
                continue;
            }
            let Some(next) = taken(&explored, &players[node][number], edge) else {
                continue;
            };
            done[edge] = true;
            if players[to].len() < OF_A_STATE {
                waiting.push_back((to, players[to].len()));
                players[to].push(next);
            }
        }
    }
    for node in 0..graph.nodes.len() {
        for (edge, to) in graph.out(node) {
            assert!(
                done[edge],
                "{what}: no run does {:?} from {node} to {}",
                graph.label(to.label).unwrap().act,
                to.to
            );
        }
    }
    Some(done.len())
}

#[test]
fn every_step_of_a_graph_is_done_by_some_run() {
    let whole = sample::is_whole();
    let (seeds, states_max) = if whole { (200, 500) } else { (24, 60) };
    let (mut machines, mut steps) = (0, 0);
    for seed in 1..=seeds {
        let text = chance::machine(&mut Chance::of(seed));
        let Ok(loaded) = load(&Source::new("f.yaml", text.clone()), None, &NoWorkflows) else {
            continue;
        };
        let what = format!("seed {seed}\n{text}");
        if let Some(count) = check_edges(&what, &loaded.machine, states_max) {
            machines += 1;
            steps += count;
        }
    }
    assert!(
        machines >= 4 && steps > 500,
        "{machines} machines, {steps} steps"
    );
}

#[test]
fn every_step_of_a_shipped_workflow_is_done_by_some_run() {
    let whole = sample::is_whole();
    for (name, machine) in shipped() {
        if whole || name == "research.yaml" {
            assert!(check_edges(&name, &machine, 20_000).is_some(), "{name}");
        }
    }
}
