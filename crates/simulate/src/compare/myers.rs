//! Common elements of two lists, by Myers' algorithm with bounded work.

use super::Stretch;

/// Number of differences after which a pair of lists is split where most was found in common.
///
/// The work for lists of length `n` is at most about `n` times this.
const COST_MAX: isize = 256;

/// A part of both lists that is still to be compared.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: (usize, usize),
    right: (usize, usize),
}

/// Returns the common and different stretches of two lists, in order.
pub(super) fn stretches(left: &[u64], right: &[u64]) -> Vec<Stretch> {
    let mut only = (vec![false; left.len()], vec![false; right.len()]);
    let mut areas = vec![Area {
        left: (0, left.len()),
        right: (0, right.len()),
    }];
    while let Some(area) = areas.pop() {
        let Some((area, a, b)) = trimmed(area, left, right) else {
            continue;
        };
        if a.is_empty() || b.is_empty() {
            mark(&mut only.0, area.left);
            mark(&mut only.1, area.right);
            continue;
        }
        let (x, y) = split(a, b);
        let middle = (area.left.0 + x, area.right.0 + y);
        areas.push(Area {
            left: (middle.0, area.left.1),
            right: (middle.1, area.right.1),
        });
        areas.push(Area {
            left: (area.left.0, middle.0),
            right: (area.right.0, middle.1),
        });
    }
    joined(&only.0, &only.1)
}

fn mark(only: &mut [bool], (from, to): (usize, usize)) {
    if let Some(part) = only.get_mut(from..to) {
        part.fill(true);
    }
}

/// Removes the common beginning and end of both parts.
fn trimmed<'l>(
    area: Area,
    left: &'l [u64],
    right: &'l [u64],
) -> Option<(Area, &'l [u64], &'l [u64])> {
    let a = left.get(area.left.0..area.left.1)?;
    let b = right.get(area.right.0..area.right.1)?;
    let before = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.get(before..)?, b.get(before..)?);
    let after = a.iter().rev().zip(b.iter().rev());
    let after = after.take_while(|(x, y)| x == y).count();
    let area = Area {
        left: (area.left.0 + before, area.left.1 - after),
        right: (area.right.0 + before, area.right.1 - after),
    };
    Some((area, a.get(..a.len() - after)?, b.get(..b.len() - after)?))
}

/// Creates stretches from what is in one list only.
fn joined(left: &[bool], right: &[bool]) -> Vec<Stretch> {
    let run = |only: &[bool], from: usize, wanted: bool| {
        let rest = only.get(from..).unwrap_or_default().iter();
        from + rest.take_while(|one| **one == wanted).count()
    };
    let wide = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
    let mut all = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < left.len() || y < right.len() {
        let (differ_x, differ_y) = (run(left, x, true), run(right, y, true));
        if (differ_x, differ_y) != (x, y) {
            all.push(Stretch {
                left: wide(x)..wide(differ_x),
                right: wide(y)..wide(differ_y),
                same: false,
            });
        }
        (x, y) = (differ_x, differ_y);
        let same = (run(left, x, false) - x).min(run(right, y, false) - y);
        if same > 0 {
            all.push(Stretch {
                left: wide(x)..wide(x + same),
                right: wide(y)..wide(y + same),
                same: true,
            });
        }
        (x, y) = (x + same, y + same);
    }
    all
}

/// How far each diagonal was followed: those around a centre, as many as differences are allowed.
struct Reach {
    centre: isize,
    ends: Vec<Option<isize>>,
}

impl Reach {
    fn around(centre: isize, start: isize) -> Self {
        let size = usize::try_from(2 * COST_MAX + 3).unwrap_or_default();
        let mut reach = Self {
            centre,
            ends: vec![None; size],
        };
        reach.set(centre, Some(start));
        reach
    }

    fn place(&self, diagonal: isize) -> Option<usize> {
        usize::try_from(diagonal - self.centre + COST_MAX + 1).ok()
    }

    fn get(&self, diagonal: isize) -> Option<isize> {
        self.ends.get(self.place(diagonal)?).copied().flatten()
    }

    fn set(&mut self, diagonal: isize, end: Option<isize>) {
        if let Some(place) = self.place(diagonal).and_then(|at| self.ends.get_mut(at)) {
            *place = end;
        }
    }

    /// Returns every point that was reached.
    fn points(&self) -> impl Iterator<Item = (isize, isize)> {
        let first = self.centre - COST_MAX - 1;
        (first..).zip(&self.ends).filter_map(|(diagonal, end)| {
            let x = (*end)?;
            Some((x, x - diagonal))
        })
    }
}

/// Finds a point on a shortest path, or a good one if that would take too long.
///
/// The lists must not be empty, nor begin or end with equal elements.
fn split(a: &[u64], b: &[u64]) -> (usize, usize) {
    let wide = |length: usize| isize::try_from(length).unwrap_or(isize::MAX);
    let (n, m) = (wide(a.len()), wide(b.len()));
    let delta = n - m;
    let same = |x: isize, y: isize| {
        let at = |list: &[u64], place: isize| list.get(usize::try_from(place).ok()?).copied();
        at(a, x).is_some_and(|one| Some(one) == at(b, y))
    };
    let point = |(x, y): (isize, isize)| {
        let narrow = |place: isize| usize::try_from(place).unwrap_or_default();
        (narrow(x), narrow(y))
    };
    let mut forward = Reach::around(0, 0);
    let mut backward = Reach::around(delta, n);
    for cost in 1..=COST_MAX {
        for k in (-cost..=cost).step_by(2) {
            let right = forward.get(k - 1).map(|x| x + 1);
            let mut end = right.max(forward.get(k + 1));
            end = end.filter(|x| *x <= n && x - k <= m && x - k >= 0);
            if let Some(x) = &mut end {
                while same(*x, *x - k) {
                    *x += 1;
                }
            }
            forward.set(k, end);
            if delta % 2 != 0
                && let (Some(x), Some(back)) = (end, backward.get(k))
                && back <= x
            {
                return point((x, x - k));
            }
        }
        for k in (delta - cost..=delta + cost).step_by(2) {
            let left = backward.get(k + 1).map(|x| x - 1);
            let mut end = match (left, backward.get(k - 1)) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            end = end.filter(|x| *x >= 0 && x - k >= 0 && x - k <= m);
            if let Some(x) = &mut end {
                while same(*x - 1, *x - k - 1) {
                    *x -= 1;
                }
            }
            backward.set(k, end);
            if delta % 2 == 0
                && let (Some(x), Some(front)) = (end, forward.get(k))
                && x <= front
            {
                return point((x, x - k));
            }
        }
    }
    let ahead = forward.points().max_by_key(|(x, y)| x + y);
    let behind = backward.points().min_by_key(|(x, y)| x + y);
    let (ahead, behind) = (ahead.unwrap_or((0, 0)), behind.unwrap_or((n, m)));
    if ahead.0 + ahead.1 >= n + m - behind.0 - behind.1 {
        point(ahead)
    } else {
        point(behind)
    }
}

#[cfg(test)]
mod tests;
