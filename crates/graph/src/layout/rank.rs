//! Assigns a row to each vertex: the length of the longest path to it from the entry, with the edges of cycles reversed.

use super::Link;

/// Returns the row of each vertex. The ends of a link never share a row.
pub(super) fn ranks(vertices: usize, links: &[Link]) -> Vec<usize> {
    let forward = forward(vertices, links);
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); vertices];
    let mut missing = vec![0_usize; vertices];
    for &(from, to) in &forward {
        out[from].push(to);
        missing[to] += 1;
    }
    let mut ranks = vec![0_usize; vertices];
    let mut ready: Vec<usize> = (0..vertices)
        .filter(|&vertex| missing[vertex] == 0)
        .collect();
    let entries = ready.clone();
    while let Some(vertex) = ready.pop() {
        for &next in &out[vertex] {
            ranks[next] = ranks[next].max(ranks[vertex] + 1);
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    // Entries other than the first are placed as near as possible to what they lead to.
    for &entry in entries.iter().skip(1) {
        let nearest = out[entry].iter().map(|&next| ranks[next]).min();
        ranks[entry] = nearest.map_or(0, |rank| rank - 1);
    }
    ranks
}

/// Returns every link with its ends in the order of rows, so that there is no cycle.
fn forward(vertices: usize, links: &[Link]) -> Vec<(usize, usize)> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); vertices];
    for (index, link) in links.iter().enumerate() {
        out[link.from].push(index);
    }
    let mut turned = vec![false; links.len()];
    let mut state = vec![Visit::Unseen; vertices];
    for root in 0..vertices {
        if state[root] != Visit::Unseen {
            continue;
        }
        state[root] = Visit::Open;
        let mut stack = vec![(root, 0)];
        while let Some((vertex, next)) = stack.pop() {
            let Some(&link) = out[vertex].get(next) else {
                state[vertex] = Visit::Done;
                continue;
            };
            stack.push((vertex, next + 1));
            let to = links[link].to;
            match state[to] {
                Visit::Unseen => {
                    state[to] = Visit::Open;
                    stack.push((to, 0));
                }
                Visit::Open => turned[link] = true,
                Visit::Done => {}
            }
        }
    }
    links
        .iter()
        .zip(turned)
        .map(|(link, turned)| {
            if turned {
                (link.to, link.from)
            } else {
                (link.from, link.to)
            }
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    Unseen,
    Open,
    Done,
}
