//! Cuts edges that are too long to follow: they lead to a reference instead.

use std::collections::BTreeMap;

use crate::{
    layout::{Link, Size, spans},
    plot::{Kind, Node, Plot},
};

/// The number of rows that all edges of one drawing may pass together; beyond it, the longest are cut.
const PASSED_MAX: usize = 3_000;

/// The number of edges that may arrive at one end from afar, and the number of rows that count as near.
const CROWD_MAX: usize = 4;
const NEAR: usize = 2;

/// Returns `plot` with every edge that is too long ending at a reference near its beginning.
pub(super) fn shorten(mut plot: Plot) -> Plot {
    let between: Vec<usize> = plot
        .edges
        .iter()
        .enumerate()
        .filter(|(_, edge)| edge.from != edge.to)
        .map(|(index, _)| index)
        .collect();
    let links: Vec<Link> = between
        .iter()
        .filter_map(|&index| plot.edges.get(index))
        .map(|edge| Link {
            from: edge.from,
            to: edge.to,
            label: Size::default(),
        })
        .collect();
    let spans = spans(plot.nodes.len(), &links);
    let bound = bound(&spans);
    let crowded = crowded(&plot, &links, &spans);
    let mut references: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (index, span) in between.into_iter().zip(spans) {
        let Some(edge) = plot.edges.get_mut(index) else {
            continue;
        };
        let from_afar = span > NEAR && crowded.get(edge.to) == Some(&true);
        if span < bound && !from_afar {
            continue;
        }
        let next = plot.nodes.len();
        let reference = *references.entry((edge.from, edge.to)).or_insert(next);
        if reference == next {
            let node = plot.nodes.get(edge.to).map(reference_to);
            plot.nodes.extend(node);
        }
        edge.to = reference;
    }
    plot
}

/// Returns the span from which on edges are cut, so that all of them together do not pass too many rows.
fn bound(spans: &[usize]) -> usize {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut passed = 0;
    let found = sorted.into_iter().find(|span| {
        passed += span;
        passed > PASSED_MAX && *span > 1
    });
    found.unwrap_or(usize::MAX)
}

/// Returns for each node whether it is an end at which many edges arrive from afar.
fn crowded(plot: &Plot, links: &[Link], spans: &[usize]) -> Vec<bool> {
    let mut far = vec![0_usize; plot.nodes.len()];
    for (link, span) in links.iter().zip(spans) {
        if let Some(far) = far.get_mut(link.to).filter(|_| *span > NEAR) {
            *far += 1;
        }
    }
    let ends = plot
        .nodes
        .iter()
        .map(|node| matches!(node.kind, Kind::Final(_) | Kind::Terminal));
    far.iter()
        .zip(ends)
        .map(|(far, end)| end && *far > CROWD_MAX)
        .collect()
}

fn reference_to(node: &Node) -> Node {
    let outcome = match node.kind {
        Kind::Final(outcome) => Some(outcome),
        Kind::Reference(outcome) => outcome,
        _ => None,
    };
    Node::bare(Kind::Reference(outcome), node.title.clone())
}
