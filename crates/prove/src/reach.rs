//! Shortest ways through the graph, forwards and backwards.

use std::collections::{BTreeMap, VecDeque, btree_map::Entry};

use crate::{explore::Graph, monitor::Watch};

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
type Place = (usize, u32);

/// Goes through the graph with a watcher, shortest ways first, until it is broken or `is` says so.
///
/// `stop` sees the label of each step and the node behind it.
pub(crate) fn search(
    graph: &Graph,
    watch: Option<&Watch>,
    stop: &dyn Fn(usize, usize) -> bool,
) -> Option<Way> {
    let mut parents: BTreeMap<Place, Option<(Place, usize)>> = BTreeMap::new();
    let mut begun: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    let mut waiting: VecDeque<(usize, u32)> = VecDeque::new();
    let step = |memory: u32, label: usize, node: usize| -> Option<u32> {
        let Some(watch) = watch else { return Some(0) };
        let label = graph.labels.get(label)?;
        watch.step(
            memory,
            &label.bits,
            &label.facts,
            &graph.nodes.get(node)?.together,
        )
    };
    for (node, label) in &graph.starts {
        let Some(memory) = step(0, *label, *node) else {
            return Some(Way {
                start: *label,
                edges: Vec::new(),
                node: *node,
            });
        };
        if stop(*label, *node) {
            return Some(Way {
                start: *label,
                edges: Vec::new(),
                node: *node,
            });
        }
        let at = (*node, memory);
        if let Entry::Vacant(free) = parents.entry(at) {
            free.insert(None);
            begun.insert(at, *label);
            waiting.push_back(at);
        }
    }
    while let Some(at) = waiting.pop_front() {
        for number in graph.nodes.get(at.0).into_iter().flat_map(|node| &node.out) {
            let Some(edge) = graph.edges.get(*number) else {
                continue;
            };
            let memory = step(at.1, edge.label, edge.to);
            let found = memory.is_none() || stop(edge.label, edge.to);
            if found {
                let mut edges = vec![*number];
                let mut back = at;
                while let Some(Some((before, edge))) = parents.get(&back) {
                    edges.push(*edge);
                    back = *before;
                }
                edges.reverse();
                let start = begun.get(&back).copied().unwrap_or_default();
                return Some(Way {
                    start,
                    edges,
                    node: edge.to,
                });
            }
            let to = (edge.to, memory.unwrap_or_default());
            if let Entry::Vacant(free) = parents.entry(to) {
                free.insert(Some((at, *number)));
                waiting.push_back(to);
            }
        }
    }
    None
}

/// Returns for each node whether one of the `goals` can be reached from it over edges that `may` be taken.
pub(crate) fn backwards(graph: &Graph, goals: Vec<bool>, may: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for edge in graph.edges.iter().filter(|edge| may(edge.label)) {
        if let Some(list) = into.get_mut(edge.to) {
            list.push(edge.from);
        }
    }
    let mut can = goals;
    let mut waiting: Vec<usize> = can
        .iter()
        .enumerate()
        .filter(|(_, can)| **can)
        .map(|(at, _)| at)
        .collect();
    while let Some(at) = waiting.pop() {
        for from in into.get(at).into_iter().flatten() {
            if let Some(known) = can.get_mut(*from)
                && !*known
            {
                *known = true;
                waiting.push(*from);
            }
        }
    }
    can
}
