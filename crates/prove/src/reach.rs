//! Shortest ways through the graph, forwards and backwards.

use indexmap::map::Entry;

use crate::{
    graph::Graph,
    hash::{Map, NONE, at, short},
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

/// Searches the graph breadth first, until the watcher is violated or `stop` returns `true`.
///
/// `stop` sees the label of each step and the node behind it.
pub(crate) fn search(
    graph: &Graph,
    watch: Option<&Watch>,
    stop: &dyn Fn(u32, usize) -> bool,
) -> Option<Way> {
    match watch {
        Some(watch) => walk(graph, Some(watch), Remembered::default(), stop),
        None => walk(graph, None, Seen::of(graph), stop),
    }
}

/// The places that a search has reached, in order.
trait Places {
    /// Adds a place with the number of the place before it and the edge between them; at the start, its label. Returns `false`
    /// if the place is known.
    fn add(&mut self, place: Place, before: u32, by: u32) -> bool;
    fn get(&self, number: usize) -> Option<(Place, u32, u32)>;
}

/// Places of a watcher with memory.
#[derive(Debug, Default)]
struct Remembered(Map<Place, (u32, u32)>);

impl Places for Remembered {
    fn add(&mut self, place: Place, before: u32, by: u32) -> bool {
        match self.0.entry(place) {
            Entry::Vacant(free) => {
                free.insert((before, by));
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    fn get(&self, number: usize) -> Option<(Place, u32, u32)> {
        let (place, (before, by)) = self.0.get_index(number)?;
        Some((*place, *before, *by))
    }
}

/// Places without a watcher: nodes.
#[derive(Debug)]
struct Seen {
    known: Vec<bool>,
    order: Vec<(u32, u32, u32)>,
}

impl Seen {
    fn of(graph: &Graph) -> Self {
        Self {
            known: vec![false; graph.nodes.len()],
            order: Vec::new(),
        }
    }
}

impl Places for Seen {
    fn add(&mut self, (node, _): Place, before: u32, by: u32) -> bool {
        match self.known.get_mut(at(node)) {
            Some(known) if !*known => {
                *known = true;
                self.order.push((node, before, by));
                true
            }
            _ => false,
        }
    }

    fn get(&self, number: usize) -> Option<(Place, u32, u32)> {
        let (node, before, by) = *self.order.get(number)?;
        Some(((node, 0), before, by))
    }
}

fn walk<P: Places>(
    graph: &Graph,
    watch: Option<&Watch>,
    mut places: P,
    stop: &dyn Fn(u32, usize) -> bool,
) -> Option<Way> {
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
        places.add(
            (short(*node), memory.unwrap_or_default()),
            NONE,
            short(*label),
        );
    }
    let mut number = 0;
    while let Some(((node, known), _, _)) = places.get(number) {
        for (edge, found) in graph.out(at(node)) {
            let memory = step(known, found.label, at(found.to));
            if memory.is_none() || stop(found.label, at(found.to)) {
                return Some(way(&places, number, edge, at(found.to)));
            }
            let place = (found.to, memory.unwrap_or_default());
            places.add(place, short(number), short(edge));
        }
        number += 1;
    }
    None
}

/// Writes the way to a place and over one more edge.
fn way(places: &impl Places, number: usize, edge: usize, node: usize) -> Way {
    let mut edges = vec![edge];
    let mut start = 0;
    let mut back = short(number);
    while let Some((_, before, by)) = places.get(at(back)) {
        if before == NONE {
            start = at(by);
        } else {
            edges.push(at(by));
        }
        back = before;
    }
    edges.reverse();
    Way { start, edges, node }
}

/// The number of sweeps over all nodes before an index of incoming edges is built.
const SWEEPS: usize = 8;

/// Returns for each node whether one of the `goals` can be reached from it over edges that `may` be taken.
///
/// Most edges lead to nodes with higher numbers, so that a few sweeps from the last node to the first are usually enough.
pub(crate) fn backwards(graph: &Graph, goals: Vec<bool>, may: &dyn Fn(u32) -> bool) -> Vec<bool> {
    let permitted: Vec<bool> = (0..graph.labels.len())
        .map(|label| may(short(label)))
        .collect();
    let may = |label: u32| permitted.get(at(label)) == Some(&true);
    let mut can = goals;
    for _ in 0..SWEEPS {
        let mut changed = false;
        for node in (0..graph.nodes.len()).rev() {
            if can.get(node) == Some(&true) {
                continue;
            }
            let mut steps = graph.out(node);
            if steps.any(|(_, edge)| may(edge.label) && can.get(at(edge.to)) == Some(&true)) {
                can.get_mut(node).into_iter().for_each(|can| *can = true);
                changed = true;
            }
        }
        if !changed {
            return can;
        }
    }
    by_steps_into(graph, can, &may)
}

/// Does the same with an index of incoming edges, in time linear in the number of edges.
fn by_steps_into(graph: &Graph, goals: Vec<bool>, may: &dyn Fn(u32) -> bool) -> Vec<bool> {
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
