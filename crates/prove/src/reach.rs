//! Shortest ways through the graph, forwards and backwards.

use std::collections::VecDeque;

use indexmap::map::Entry;

use crate::{
    graph::{Graph, NONE},
    hash::{Map, at, short},
    monitor::Watch,
};

/// A way through the graph: the step that begins the run, then edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// The label of the step that begins the run.
    pub(crate) start: usize,
    pub(crate) edges: Vec<usize>,
    /// Where it ends.
    pub(crate) node: usize,
}

/// A state of the graph, and what a watcher remembers there.
type Place = (u32, u32);

/// Goes through the graph with a watcher, shortest ways first, until it is broken or `is` says so.
///
/// `stop` sees the label of each step and the node behind it.
pub(crate) fn search(
    graph: &Graph,
    watch: Option<&Watch>,
    stop: &dyn Fn(u32, usize) -> bool,
) -> Option<Way> {
    // By place: where it was come from, as its number, and by which edge; at the start, its label.
    let mut places: Map<Place, (u32, u32)> = Map::default();
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let step = |memory: u32, label: u32, node: usize| -> Option<u32> {
        let Some(watch) = watch else { return Some(0) };
        let label = graph.label(label)?;
        watch.step(memory, &label.bits, &label.facts, graph.together(node))
    };
    for (node, label) in &graph.starts {
        let memory = step(0, short(*label), *node);
        if memory.is_none() || stop(short(*label), *node) {
            return Some(Way {
                start: *label,
                edges: Vec::new(),
                node: *node,
            });
        }
        let place = (short(*node), memory.unwrap_or_default());
        let number = places.len();
        if let Entry::Vacant(free) = places.entry(place) {
            free.insert((NONE, short(*label)));
            waiting.push_back(number);
        }
    }
    while let Some(number) = waiting.pop_front() {
        let Some(((node, known), _)) = places.get_index(number) else {
            continue;
        };
        let known = *known;
        for (edge, found) in graph.out(at(*node)).collect::<Vec<_>>() {
            let memory = step(known, found.label, at(found.to));
            if memory.is_none() || stop(found.label, at(found.to)) {
                return Some(way(&places, number, edge, at(found.to)));
            }
            let next = places.len();
            if let Entry::Vacant(free) = places.entry((found.to, memory.unwrap_or_default())) {
                free.insert((short(number), short(edge)));
                waiting.push_back(next);
            }
        }
    }
    None
}

/// Writes the way to a place and over one more edge.
fn way(places: &Map<Place, (u32, u32)>, number: usize, edge: usize, node: usize) -> Way {
    let mut edges = vec![edge];
    let mut start = 0;
    let mut back = short(number);
    while let Some((_, (before, by))) = places.get_index(at(back)) {
        if *before == NONE {
            start = at(*by);
        } else {
            edges.push(at(*by));
        }
        back = *before;
    }
    edges.reverse();
    Way { start, edges, node }
}

/// Returns for each node whether one of the `goals` can be reached from it over edges that `may` be taken.
pub(crate) fn backwards(graph: &Graph, goals: Vec<bool>, may: &dyn Fn(u32) -> bool) -> Vec<bool> {
    // Where the steps into each node begin, in one list; `ends` says where each node's are over.
    let mut ends = vec![0_usize; graph.nodes.len() + 1];
    let taken = |node: usize| graph.out(node).filter(move |(_, edge)| may(edge.label));
    for node in 0..graph.nodes.len() {
        for (_, edge) in taken(node) {
            ends.get_mut(at(edge.to) + 1)
                .into_iter()
                .for_each(|count| *count += 1);
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    let mut into = vec![NONE; sum];
    let mut free = ends.clone();
    for node in 0..graph.nodes.len() {
        for (_, edge) in taken(node) {
            if let Some(place) = free.get_mut(at(edge.to)) {
                into.get_mut(*place)
                    .into_iter()
                    .for_each(|from| *from = short(node));
                *place += 1;
            }
        }
    }
    let mut can = goals;
    let own = can.iter().enumerate().filter(|(_, can)| **can);
    let mut waiting: Vec<usize> = own.map(|(node, _)| node).collect();
    while let Some(node) = waiting.pop() {
        let range = ends.get(node).zip(ends.get(node + 1));
        let from = range.and_then(|(from, to)| into.get(*from..*to));
        for before in from.into_iter().flatten() {
            if let Some(known) = can.get_mut(at(*before))
                && !*known
            {
                *known = true;
                waiting.push(at(*before));
            }
        }
    }
    can
}
