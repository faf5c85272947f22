//! Cuts edges that are too long to be followed: they lead to a reference instead.

use std::collections::BTreeMap;

use crate::{
    layout::{Link, Size, too_long},
    plot::{Kind, Node, Plot},
};

/// Returns `plot` with every too long edge ending at a reference beside its beginning.
pub(super) fn shorten(mut plot: Plot) -> Plot {
    let between: Vec<usize> = (0..plot.edges.len())
        .filter(|&index| {
            let edge = plot.edges.get(index);
            edge.is_some_and(|edge| edge.from != edge.to)
        })
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
    let long = too_long(plot.nodes.len(), &links);
    let mut references: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (index, long) in between.into_iter().zip(long) {
        let Some(edge) = plot.edges.get_mut(index).filter(|_| long) else {
            continue;
        };
        let next = plot.nodes.len();
        let reference = *references.entry((edge.from, edge.to)).or_insert(next);
        if reference == next {
            let title = plot.nodes.get(edge.to).map(|node| node.title.clone());
            plot.nodes
                .push(Node::bare(Kind::Reference, title.unwrap_or_default()));
        }
        edge.to = reference;
    }
    plot
}
