//! The name that was probably meant.

/// Characters of a name that are looked at.
const LENGTH_MAX: usize = 64;

/// Returns the name of `known` closest to `wanted`, when one is close.
///
/// Case, `_`, `-` and blanks make no difference; two letters swapped count once.
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = fold(wanted);
    known
        .into_iter()
        .filter_map(|name| Some((distance(&plain, &fold(name))?, name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Leaves out what people mix up.
fn fold(name: &str) -> Vec<char> {
    let plain = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    plain
        .flat_map(char::to_lowercase)
        .take(LENGTH_MAX)
        .collect()
}

/// Counts the edits between two names; `None`: they have too little in common.
fn distance(left: &[char], right: &[char]) -> Option<usize> {
    let reach = (left.len().min(right.len()) + 1) / 3;
    if left.len().abs_diff(right.len()) > reach {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (index, letter) in left.iter().enumerate() {
        let next = next_row(&row, &before, (last, *letter), right, index + 1);
        before = std::mem::replace(&mut row, next);
        last = Some(*letter);
    }
    row.last().copied().filter(|distance| *distance <= reach)
}

/// Fills the row of one more letter of the left name.
fn next_row(
    row: &[usize],
    before: &[usize],
    (last, letter): (Option<char>, char),
    right: &[char],
    first: usize,
) -> Vec<usize> {
    let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(LENGTH_MAX);
    let mut next = vec![first];
    let mut previous = None;
    for (at, other) in right.iter().enumerate() {
        let change = cell(row, at) + usize::from(letter != *other);
        let mut best = change.min(cell(row, at + 1) + 1).min(cell(&next, at) + 1);
        if last == Some(*other) && previous == Some(letter) {
            best = best.min(cell(before, at.saturating_sub(1)) + 1);
        }
        next.push(best);
        previous = Some(*other);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::nearest;

    fn check(wanted: &str, expected: Option<&str>) {
        let known = [
            "allowed_tools",
            "allowed_commands",
            "on",
            "type",
            "max_iterations",
            "env",
        ];
        assert_eq!(nearest(wanted, known), expected, "{wanted}");
    }

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        check("alowed_tools", Some("allowed_tools"));
        check("allowedTools", Some("allowed_tools"));
        check("ALLOWED-COMMANDS", Some("allowed_commands"));
        check("onn", Some("on"));
        check("tpye", Some("type"));
        check("maxiteration", Some("max_iterations"));
        check("colour", None);
        check("x", None);
        check("", None);
    }
}
