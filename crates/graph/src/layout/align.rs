//! Assigns a place to each cell: long edges straight, boxes above the middle of what they are linked to.
//!
//! After Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment"
//! (2002): cells are chained into vertical blocks in four ways (upward or
//! downward, from the left or from the right), each way is packed, and each
//! cell takes the mean of the two middle places. A mean of
//! orders that keep neighbours apart keeps them apart as well.

use std::collections::{BTreeMap, BTreeSet};

use super::{Link, grid::Grid};

/// Returns the middle of each cell, from left to right, the leftmost edge at 0.
pub(super) fn places(grid: &Grid, links: &[Link]) -> Vec<f64> {
    let mut barred = barred(grid);
    bar_beside_spine(grid, links, &mut barred);
    let mut four: Vec<Vec<f64>> = Vec::with_capacity(4);
    for from_above in [true, false] {
        for from_left in [true, false] {
            let view = View {
                grid,
                from_above,
                from_left,
            };
            let roots = blocks(&view, &barred);
            four.push(pack(&view, &roots));
        }
    }
    let mut places = balance(grid, &four);
    let leftmost = grid
        .cells
        .iter()
        .zip(&places)
        .map(|(cell, place)| place - cell.left)
        .fold(f64::INFINITY, f64::min);
    for place in &mut places {
        *place -= leftmost;
    }
    places
}

/// The grid as seen from one of the four directions.
struct View<'g> {
    grid: &'g Grid,
    from_above: bool,
    from_left: bool,
}

impl View<'_> {
    /// Returns the rows in the order in which they are visited.
    fn rows(&self) -> Vec<Vec<usize>> {
        let mut rows = self.grid.rows.clone();
        if !self.from_above {
            rows.reverse();
        }
        if !self.from_left {
            for row in &mut rows {
                row.reverse();
            }
        }
        rows
    }

    /// Returns what `cell` is linked to in the row visited before.
    fn tied(&self, cell: usize) -> Vec<usize> {
        let cell = &self.grid.cells[cell];
        let mut tied = if self.from_above {
            cell.up.clone()
        } else {
            cell.down.clone()
        };
        tied.sort_by_key(|&other| self.position(other));
        tied
    }

    fn position(&self, cell: usize) -> usize {
        let position = self.grid.cells[cell].position;
        if self.from_left {
            position
        } else {
            self.grid.rows[self.grid.cells[cell].row].len() - 1 - position
        }
    }

    fn apart(&self, first: usize, second: usize) -> f64 {
        if self.from_left {
            self.grid.apart(first, second)
        } else {
            self.grid.apart(second, first)
        }
    }
}

/// Returns the segments that a block may not contain, because they cross the inside of a long edge.
fn barred(grid: &Grid) -> BTreeSet<(usize, usize)> {
    let mut barred = BTreeSet::new();
    let passes = |cell: usize| !grid.cells[cell].vertex;
    for (above, row) in grid.rows.iter().zip(grid.rows.iter().skip(1)) {
        let mut left = 0;
        let mut scanned = 0;
        for (index, &cell) in row.iter().enumerate() {
            let inner = grid.cells[cell]
                .up
                .iter()
                .copied()
                .find(|&other| passes(cell) && passes(other));
            if inner.is_none() && index + 1 < row.len() {
                continue;
            }
            let right = inner.map_or(above.len(), |other| grid.cells[other].position);
            while scanned <= index {
                let crossing = row[scanned];
                for &other in &grid.cells[crossing].up {
                    let position = grid.cells[other].position;
                    let straight = passes(crossing) && passes(other);
                    if (position < left || position > right) && !straight {
                        barred.insert((other, crossing));
                    }
                }
                scanned += 1;
            }
            left = right;
        }
    }
    barred
}

/// Bars what would pull a vertex away from the only vertex it leads on to.
///
/// Where all other ways out of a vertex end at once, the way on is kept straight, so
/// that a sequence of states forms one column.
fn bar_beside_spine(grid: &Grid, links: &[Link], barred: &mut BTreeSet<(usize, usize)>) {
    let mut leads_on = vec![false; grid.cells.len()];
    let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut above: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (link, chain) in grid.chains.iter().enumerate() {
        leads_on[chain[0]] = true;
        below.entry(chain[0]).or_default().push(link);
        above.entry(chain[chain.len() - 1]).or_default().push(link);
    }
    let mut straight: BTreeMap<usize, usize> = BTreeMap::new();
    for (vertex, ways) in &below {
        let on: Vec<usize> = ways
            .iter()
            .copied()
            .filter(|&link| links[link].from == *vertex && leads_on[links[link].to])
            .collect();
        let targets: BTreeSet<usize> = on.iter().map(|&link| links[link].to).collect();
        let (Some(&first), 1) = (on.first(), targets.len()) else {
            continue;
        };
        let spine = *straight.entry(links[first].to).or_insert(first);
        if spine == first {
            let others = ways.iter().filter(|&&link| link != first);
            barred.extend(others.map(|&link| (*vertex, grid.chains[link][1])));
        }
    }
    for (vertex, spine) in straight {
        let others = above.get(&vertex).into_iter().flatten();
        for &link in others.filter(|&&link| link != spine) {
            let chain = &grid.chains[link];
            barred.insert((chain[chain.len() - 2], vertex));
        }
    }
}

/// Chains cells into blocks; returns the first cell of the block of each.
fn blocks(view: &View<'_>, barred: &BTreeSet<(usize, usize)>) -> Vec<usize> {
    let cells = view.grid.cells.len();
    let mut roots: Vec<usize> = (0..cells).collect();
    let mut chained = vec![false; cells];
    for row in view.rows() {
        let mut reached: Option<usize> = None;
        for cell in row {
            let mut tied = view.tied(cell);
            tied.retain(|&other| {
                let segment = if view.from_above {
                    (other, cell)
                } else {
                    (cell, other)
                };
                !barred.contains(&segment)
            });
            let middles = [tied.len().saturating_sub(1) / 2, tied.len() / 2];
            for other in middles.iter().filter_map(|&middle| tied.get(middle)) {
                let position = view.position(*other);
                let free = reached.is_none_or(|reached| reached < position);
                // One block per cell: the first that fits.
                if roots[cell] == cell && free && !chained[*other] {
                    roots[cell] = roots[*other];
                    chained[*other] = true;
                    reached = Some(position);
                }
            }
        }
    }
    roots
}

/// Packs the blocks from the left, then pulls each as far right as its neighbours let it.
fn pack(view: &View<'_>, roots: &[usize]) -> Vec<f64> {
    let cells = roots.len();
    let mut right: Vec<Vec<(usize, f64)>> = vec![Vec::new(); cells];
    let mut missing = vec![0_usize; cells];
    for row in view.rows() {
        for pair in row.windows(2) {
            let (first, second) = (roots[pair[0]], roots[pair[1]]);
            right[first].push((second, view.apart(pair[0], pair[1])));
            missing[second] += 1;
        }
    }
    let mut places = vec![0.0_f64; cells];
    let mut ready: Vec<usize> = (0..cells)
        .filter(|&cell| roots[cell] == cell && missing[cell] == 0)
        .collect();
    let mut sequence = Vec::with_capacity(cells);
    while let Some(block) = ready.pop() {
        sequence.push(block);
        for &(next, apart) in &right[block] {
            places[next] = places[next].max(places[block] + apart);
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    for &block in sequence.iter().rev() {
        let bound = right[block]
            .iter()
            .map(|&(next, apart)| places[next] - apart)
            .fold(f64::INFINITY, f64::min);
        if bound.is_finite() {
            places[block] = places[block].max(bound);
        }
    }
    let sign = if view.from_left { 1.0 } else { -1.0 };
    roots.iter().map(|&root| sign * places[root]).collect()
}

/// Combines the four placements and takes the mean of the two middle places.
fn balance(grid: &Grid, four: &[Vec<f64>]) -> Vec<f64> {
    let bounds = |places: &[f64]| {
        let cells = grid.cells.iter().zip(places);
        cells.fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(low, high), (cell, place)| (low.min(place - cell.left), high.max(place + cell.right)),
        )
    };
    let all: Vec<(f64, f64)> = four.iter().map(|places| bounds(places)).collect();
    let narrowest = all
        .iter()
        .copied()
        .min_by(|left, right| (left.1 - left.0).total_cmp(&(right.1 - right.0)))
        .unwrap_or_default();
    (0..grid.cells.len())
        .map(|cell| {
            let mut places: Vec<f64> = four
                .iter()
                .zip(&all)
                .enumerate()
                .map(|(way, (places, (low, high)))| {
                    // Every second way is packed from the right.
                    let shift = if way % 2 == 0 {
                        narrowest.0 - low
                    } else {
                        narrowest.1 - high
                    };
                    places[cell] + shift
                })
                .collect();
            places.sort_by(f64::total_cmp);
            f64::midpoint(places[1], places[2])
        })
        .collect()
}
