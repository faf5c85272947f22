//! The number of lines that an edit touches.

use std::collections::{HashMap, HashSet};

/// Maximum number of steps of the search for a shortest edit; beyond it, the upper bound counts.
const STEPS_MAX: usize = 8_000_000;

/// Counts lines: an unfinished last line counts, an empty text has none.
pub(crate) fn count(text: &str) -> u64 {
    wide(split(text).len())
}

/// Returns the larger of the numbers of lines removed and added by the shortest edit from `old` to `new`.
///
/// If the search would take too long, returns an upper bound, which is deterministic.
pub(crate) fn touched(old: &str, new: &str) -> u64 {
    if old == new {
        return 0;
    }
    let (old, new) = trimmed(split(old), split(new));
    let (shared_old, shared_new) = shared(&old, &new);
    // A line that only one side has is touched in any case.
    let kept = distance(&shared_old, &shared_new).map_or(0, |distance| {
        (shared_old.len() + shared_new.len() - distance) / 2
    });
    // If all lines are equal, only the end of the last one differs.
    wide((old.len().max(new.len()) - kept).max(1))
}

pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Splits a text at every line break that some editor or language recognizes: LF, CR, VT, FF, NEL and the separators of Unicode.
///
/// Each line keeps its line break, except LF.
fn split(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let after = at + letter.len_utf8();
        let end = match letter {
            '\n' => at,
            '\r' if letters.peek().is_some_and(|(_, next)| *next == '\n') => continue,
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => after,
            _ => continue,
        };
        lines.extend(text.get(start..end));
        start = after;
    }
    lines.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    lines
}

/// Removes the common beginning and end.
fn trimmed<'a>(mut old: Vec<&'a str>, mut new: Vec<&'a str>) -> (Vec<&'a str>, Vec<&'a str>) {
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    old.drain(..before);
    new.drain(..before);
    while old.last().is_some() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    (old, new)
}

/// Returns the lines that both sides have, numbered so that equal lines have equal numbers.
fn shared(old: &[&str], new: &[&str]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut number = |line| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|line| number(*line)).collect();
    let new: Vec<usize> = new.iter().map(|line| number(*line)).collect();
    let of = |lines: &[usize]| lines.iter().copied().collect::<HashSet<usize>>();
    let (in_old, in_new) = (of(&old), of(&new));
    let keep = |lines: Vec<usize>, other: &HashSet<usize>| {
        lines
            .into_iter()
            .filter(|line| other.contains(line))
            .collect()
    };
    (keep(old, &in_new), keep(new, &in_old))
}

/// Returns the smallest number of removals and additions that lead from `a` to `b` (Myers 1986).
///
/// Returns `None` if it is not found in [`STEPS_MAX`] steps.
fn distance(a: &[usize], b: &[usize]) -> Option<usize> {
    let longest = a.len() + b.len();
    // Progress along `a` of each diagonal; the middle one is at `longest + 1`.
    let mut reach = vec![0_usize; 2 * longest + 3];
    let mut steps = 0_usize;
    for distance in 0..=longest {
        for step in 0..=distance {
            // The diagonal is `2 * step - distance`: added lines lead down, removed ones up.
            let at = (longest + 1 + 2 * step).checked_sub(distance)?;
            let (below, above) = (*reach.get(at - 1)?, *reach.get(at + 1)?);
            let from_above = step == 0 || (step != distance && below < above);
            let mut x = if from_above { above } else { below + 1 };
            let mut y = (x + longest + 1).checked_sub(at)?;
            while a.get(x).is_some() && a.get(x) == b.get(y) {
                x += 1;
                y += 1;
                steps += 1;
            }
            if x >= a.len() && y >= b.len() {
                return Some(distance);
            }
            *reach.get_mut(at)? = x;
        }
        steps += distance;
        if steps > STEPS_MAX {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_larger_side_counts() {
        let rows = [
            ("", "", 0),
            ("a\n", "a\n", 0),
            ("", "a\nb\n", 2),
            ("a\nb\n", "", 2),
            ("a\nb\nc\n", "x\n", 3),
            ("a\nb\nc\n", "a\nx\nc\n", 1),
            ("1\n2\n3\n4\n5\n6\n", "1\n2\nX\n4\n5\n6\n", 1),
            ("1\n2\n3\n4\n5\n6\n", "X\n2\nX\n4\nX\n6\n", 3),
            ("1\n2\n3\n4\n", "1\n", 3),
            ("a", "a\n", 1),
            ("foo", "foo\nbar", 1),
            ("a\nb\n", "b\na\n", 1),
            ("x\nx\nx\n", "x\n", 2),
            ("a\n", "b\na\nb\n", 2),
            ("", "a\rb\rc", 3),
            ("", "a\r\nb\r\n", 2),
            ("a\nb\n", "a\r\nb\r\n", 2),
            ("", "a\u{2028}b\u{2029}c\u{b}d\u{c}e\u{85}f", 6),
            ("a\rb\rc\r", "a\rx\rc\r", 1),
        ];
        for (old, new, lines) in rows {
            assert_eq!(touched(old, new), lines, "{old:?} -> {new:?}");
            assert_eq!(touched(new, old), lines, "{new:?} -> {old:?}");
        }
    }

    #[test]
    fn text_without_end_is_answered_with_an_upper_bound() {
        let old: String = (0..200_000).map(|n| format!("{}\n", n % 1_000)).collect();
        let new: String = (0..200_000)
            .map(|n| format!("{}\n", n * 7 % 1_000))
            .collect();
        let lines = touched(&old, &new);
        assert!(lines > 1_000 && lines <= 200_000, "{lines}");
    }

    /// The longest common subsequence by the book.
    fn reference(old: &str, new: &str) -> u64 {
        let (old, new) = (split(old), split(new));
        let mut row = vec![0_usize; new.len() + 1];
        for a in &old {
            let mut next = vec![0_usize];
            for (index, b) in new.iter().enumerate() {
                let diagonal = row.get(index).copied().unwrap_or(0);
                let above = row.get(index + 1).copied().unwrap_or(0);
                let left = next.last().copied().unwrap_or(0);
                next.push(if a == b {
                    diagonal + 1
                } else {
                    above.max(left)
                });
            }
            row = next;
        }
        let kept = row.last().copied().unwrap_or(0);
        wide((old.len() - kept).max(new.len() - kept))
    }

    proptest! {
        #[test]
        fn agrees_with_the_longest_common_subsequence(
            old in proptest::collection::vec("[abc]", 0..24),
            new in proptest::collection::vec("[abc]", 0..24),
        ) {
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (old, new) = (text(&old), text(&new));
            prop_assert_eq!(touched(&old, &new), reference(&old, &new));
        }
    }
}
