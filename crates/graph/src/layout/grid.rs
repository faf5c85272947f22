//! Rows of cells: every second row contains vertices, the others labels; edges pass through both.

use super::{GAP_BOXES, GAP_EDGES, Link, Vertex};

/// Rows of cells and the segments between adjacent rows.
#[derive(Debug, Default)]
pub(super) struct Grid {
    pub(super) cells: Vec<Cell>,
    /// The cells of each row, left to right.
    pub(super) rows: Vec<Vec<usize>>,
    /// The cells of each link from its upper end to its lower one, ends included.
    pub(super) chains: Vec<Vec<usize>>,
    /// The cell of each link's label.
    pub(super) labels: Vec<usize>,
}

/// A place in a row.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) row: usize,
    /// Its position in the row.
    pub(super) position: usize,
    /// The space it takes on either side of its middle.
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) height: f64,
    /// Whether it is a vertex; otherwise an edge passes through it.
    pub(super) vertex: bool,
    /// The cells of the row above and of the row below that it is linked to.
    pub(super) up: Vec<usize>,
    pub(super) down: Vec<usize>,
}

impl Grid {
    /// Lays the links over the rows given by `ranks`.
    pub(super) fn new(vertices: &[Vertex], links: &[Link], ranks: &[usize]) -> Self {
        let rows = ranks.iter().max().map_or(0, |last| 2 * last + 1);
        let mut grid = Self {
            rows: vec![Vec::new(); rows],
            ..Self::default()
        };
        for (vertex, rank) in vertices.iter().zip(ranks) {
            let half = vertex.width / 2.0;
            grid.cells.push(Cell {
                left: half,
                right: half + vertex.right,
                height: vertex.height,
                vertex: true,
                ..Cell::passing(2 * rank)
            });
        }
        for link in links {
            grid.lay(link, ranks);
        }
        grid.fill_rows();
        grid
    }

    fn lay(&mut self, link: &Link, ranks: &[usize]) {
        let downward = ranks[link.from] < ranks[link.to];
        let (upper, lower) = if downward {
            (link.from, link.to)
        } else {
            (link.to, link.from)
        };
        let (first, last) = (2 * ranks[upper] + 1, 2 * ranks[lower] - 1);
        let label_row = if downward { first } else { last };
        let mut chain = vec![upper];
        for row in first..=last {
            let mut cell = Cell::passing(row);
            if row == label_row {
                cell.left = link.label.width / 2.0;
                cell.right = cell.left;
                cell.height = link.label.height;
                self.labels.push(self.cells.len());
            }
            chain.push(self.cells.len());
            self.cells.push(cell);
        }
        chain.push(lower);
        for pair in chain.windows(2) {
            self.cells[pair[0]].down.push(pair[1]);
            self.cells[pair[1]].up.push(pair[0]);
        }
        self.chains.push(chain);
    }

    /// Puts every cell into its row, in the order in which a walk from the first vertex meets them.
    fn fill_rows(&mut self) {
        let mut seen = vec![false; self.cells.len()];
        for root in 0..self.cells.len() {
            let mut stack = vec![root];
            while let Some(cell) = stack.pop() {
                if std::mem::replace(&mut seen[cell], true) {
                    continue;
                }
                self.rows[self.cells[cell].row].push(cell);
                stack.extend(self.cells[cell].down.iter().rev());
            }
        }
        self.number();
    }

    /// Stores in each cell its position in its row.
    pub(super) fn number(&mut self) {
        for row in &self.rows {
            for (position, &cell) in row.iter().enumerate() {
                self.cells[cell].position = position;
            }
        }
    }

    /// Returns how far apart the middles of two neighbours must be.
    pub(super) fn apart(&self, left: usize, right: usize) -> f64 {
        let (left, right) = (&self.cells[left], &self.cells[right]);
        let gap = if left.vertex && right.vertex {
            GAP_BOXES
        } else {
            GAP_EDGES
        };
        left.right + gap + right.left
    }
}

impl Cell {
    const fn passing(row: usize) -> Self {
        Self {
            row,
            position: 0,
            left: 0.0,
            right: 0.0,
            height: 0.0,
            vertex: false,
            up: Vec::new(),
            down: Vec::new(),
        }
    }
}
