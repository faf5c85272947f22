//! Orders each row: each cell near the middle of the cells it is linked to, swept down and up.

use super::grid::Grid;

/// The number of sweeps over all rows; the best order found is kept.
const SWEEPS: usize = 16;

/// The number of cells up to which neighbours are also swapped pair by pair.
const SWAPPED_MAX: usize = 3_000;

/// Orders the cells of each row so that few segments cross.
pub(super) fn order(grid: &mut Grid) {
    let mut best = grid.rows.clone();
    let mut fewest = crossings(grid);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        sweep_once(grid, sweep % 2 == 0, sweep % 4 >= 2);
        if grid.cells.len() <= SWAPPED_MAX {
            swap_neighbours(grid);
        }
        let found = crossings(grid);
        if found < fewest {
            fewest = found;
            best.clone_from(&grid.rows);
        }
    }
    grid.rows = best;
    grid.number();
}

/// Sorts each row by the rows before it; `leftward` breaks ties the other way round.
fn sweep_once(grid: &mut Grid, downward: bool, leftward: bool) {
    let rows = grid.rows.len();
    for step in 1..rows {
        let row = if downward { step } else { rows - 1 - step };
        let cells = &grid.rows[row];
        let mut moving: Vec<(f64, usize)> = Vec::with_capacity(cells.len());
        for &cell in cells {
            moving.extend(middle(grid, cell, downward).map(|middle| (middle, cell)));
        }
        if leftward {
            moving.reverse();
        }
        moving.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut sorted = moving.into_iter();
        let ordered: Vec<usize> = cells
            .iter()
            .map(|&cell| {
                let free = middle(grid, cell, downward).is_some();
                let next = if free { sorted.next() } else { None };
                next.map_or(cell, |(_, cell)| cell)
            })
            .collect();
        for (position, &cell) in ordered.iter().enumerate() {
            grid.cells[cell].position = position;
        }
        grid.rows[row] = ordered;
    }
}

/// Returns the mean position of what `cell` is linked to in the row before it.
fn middle(grid: &Grid, cell: usize, downward: bool) -> Option<f64> {
    let cell = &grid.cells[cell];
    let tied = if downward { &cell.up } else { &cell.down };
    let sum: usize = tied.iter().map(|&other| grid.cells[other].position).sum();
    (!tied.is_empty()).then(|| count(sum) / count(tied.len()))
}

/// Converts a count to a measure.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

/// Swaps neighbours as long as that removes crossings.
fn swap_neighbours(grid: &mut Grid) {
    for row in 0..grid.rows.len() {
        for left in 1..grid.rows[row].len() {
            let (a, b) = (grid.rows[row][left - 1], grid.rows[row][left]);
            if crossed(grid, b, a) < crossed(grid, a, b) {
                grid.rows[row].swap(left - 1, left);
                grid.cells[a].position = left;
                grid.cells[b].position = left - 1;
            }
        }
    }
}

/// Counts the crossings between the segments of two neighbours, `a` to the left.
fn crossed(grid: &Grid, a: usize, b: usize) -> usize {
    let (a, b) = (&grid.cells[a], &grid.cells[b]);
    let between = |left: &[usize], right: &[usize]| {
        let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
        pairs
            .filter(|&(&l, &r)| grid.cells[l].position > grid.cells[r].position)
            .count()
    };
    between(&a.up, &b.up) + between(&a.down, &b.down)
}

/// Counts all crossings, row by row.
fn crossings(grid: &Grid) -> usize {
    let mut all = 0;
    for (row, below) in grid.rows.iter().zip(grid.rows.iter().skip(1)) {
        let mut tally = Tally::new(below.len());
        for &cell in row {
            let mut ends: Vec<usize> = grid.cells[cell]
                .down
                .iter()
                .map(|&other| grid.cells[other].position)
                .collect();
            all += ends.iter().map(|&end| tally.beyond(end)).sum::<usize>();
            ends.sort_unstable();
            for end in ends {
                tally.add(end);
            }
        }
    }
    all
}

/// Counts of positions, summed by a binary tree (Fenwick).
struct Tally {
    sums: Vec<usize>,
    all: usize,
}

impl Tally {
    fn new(positions: usize) -> Self {
        Self {
            sums: vec![0; positions + 1],
            all: 0,
        }
    }

    fn add(&mut self, position: usize) {
        self.all += 1;
        let mut node = position + 1;
        while node < self.sums.len() {
            self.sums[node] += 1;
            node += node & node.wrapping_neg();
        }
    }

    /// Returns how many of those added lie beyond `position`.
    fn beyond(&self, position: usize) -> usize {
        let mut node = position + 1;
        let mut up_to = 0;
        while node > 0 {
            up_to += self.sums[node];
            node &= node - 1;
        }
        self.all - up_to
    }
}
