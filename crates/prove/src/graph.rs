//! The graph of all that may happen, packed into numbers.

use std::cell::RefCell;

use interlock_core::{machine::Outcome, run::Run};

use crate::{
    atlas::Atlas,
    facts::Facts,
    hash::{NONE, Set, at, short},
    model::Model,
    moves::Act,
    states::States,
};

/// What the steps of a kind have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Label {
    pub(crate) act: Act,
    pub(crate) facts: Facts,
    pub(crate) bits: Vec<bool>,
}

/// A step to another state of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) to: u32,
    pub(crate) label: u32,
}

/// A state of the graph.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// How the run has ended; `None`: it goes on.
    pub(crate) ended: Option<Outcome>,
    /// Whether some open stay has used up its calls or its bytes.
    pub(crate) exhausted: bool,
    /// Which properties about where a run stands are so.
    pub(super) stands: u32,
    /// Bits that `never_together` asks for.
    pub(super) together: u32,
    /// The first and the last of its spans of edges.
    spans: (u32, u32),
    /// The last visit.
    pub(super) visit: u32,
}

/// Edges that were found at once, and where further ones of the same state are.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u32,
    to: u32,
    next: u32,
}

/// All that may happen.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    spans: Vec<Span>,
    pub(crate) labels: Vec<Label>,
    /// Where runs begin, with the step that begins them.
    pub(crate) starts: Vec<(usize, usize)>,
    /// Whether it is whole; otherwise the bound was reached.
    pub(crate) whole: bool,
    /// Steps that the engine itself was asked for.
    pub(crate) asked: usize,
    pub(super) atlas: RefCell<Atlas>,
    pub(super) keys: States,
    pub(super) together: Set<Vec<(usize, usize)>>,
}

impl Graph {
    pub(crate) fn empty() -> Self {
        Self {
            whole: true,
            ..Self::default()
        }
    }

    /// Returns the state of the graph that a run is in.
    pub(crate) fn find(&self, model: &Model, run: &Run) -> Option<usize> {
        let mut atlas = self.atlas.borrow_mut();
        let mut state = atlas.state(model, run);
        let known = self.keys.find(&state.packed()).or_else(|| {
            atlas.order(&mut state);
            self.keys.find(&state.packed())
        });
        known.map(at)
    }

    /// Writes the state of a run as text, for a failed test.
    #[cfg(test)]
    pub(crate) fn text(&self, model: &Model, run: &Run) -> String {
        let mut atlas = self.atlas.borrow_mut();
        let state = atlas.state(model, run);
        atlas.text(&state)
    }

    /// Returns the steps from a state, in the order they were found, each with its number.
    pub(crate) fn out(&self, node: usize) -> impl Iterator<Item = (usize, Edge)> + '_ {
        let mut span = self.nodes.get(node).map_or(NONE, |node| node.spans.0);
        let mut now = 0..0;
        std::iter::from_fn(move || {
            loop {
                if let Some(number) = now.next() {
                    return self.edges.get(number).map(|edge| (number, *edge));
                }
                let found = self.spans.get(at(span))?;
                now = at(found.from)..at(found.to);
                span = found.next;
            }
        })
    }

    /// Counts the steps.
    pub(crate) fn steps(&self) -> usize {
        self.edges.len()
    }

    pub(crate) fn edge(&self, number: usize) -> Option<Edge> {
        self.edges.get(number).copied()
    }

    pub(crate) fn label(&self, number: u32) -> Option<&Label> {
        self.labels.get(at(number))
    }

    /// Returns the pairs that hold in two open branches.
    pub(crate) fn together(&self, node: usize) -> &[(usize, usize)] {
        let pairs = self.nodes.get(node).map_or(NONE, |node| node.together);
        self.together
            .get_index(at(pairs))
            .map_or(&[], Vec::as_slice)
    }

    /// Adds the node of the state that was added to `keys` last.
    pub(super) fn add_node(&mut self, ended: Option<Outcome>, exhausted: bool) {
        self.nodes.push(Node {
            ended,
            exhausted,
            stands: NONE,
            together: NONE,
            spans: (NONE, NONE),
            visit: NONE,
        });
    }

    /// Adds edges of a state that were found at once.
    pub(super) fn close_span(&mut self, node: usize, from: usize) {
        let to = self.edges.len();
        let Some(node) = self.nodes.get_mut(node).filter(|_| from < to) else {
            return;
        };
        let number = short(self.spans.len());
        match self.spans.get_mut(at(node.spans.1)) {
            Some(last) => last.next = number,
            None => node.spans.0 = number,
        }
        node.spans.1 = number;
        self.spans.push(Span {
            from: short(from),
            to: short(to),
            next: NONE,
        });
    }
}
