//! Paths that stand for all paths: one of each set of patterns that it matches.

use std::collections::BTreeSet;

use interlock_core::glob::path_matches;

/// The path that matches no pattern.
const OTHER: &str = "zz-other/zz-file.zz";

/// Paths for every set of patterns that a path may match, and where one may be missing.
pub(crate) fn witnesses(patterns: &[String]) -> (Vec<String>, Vec<String>) {
    if let Some(wide) = patterns.iter().find(|pattern| is_wide(pattern)) {
        let why = format!("`{wide}` has more braces and stars than are tried");
        return (vec![OTHER.to_owned()], vec![why]);
    }
    let mut candidates: Vec<String> = vec![OTHER.to_owned()];
    for pattern in patterns {
        candidates.extend(instances(pattern, &["x"]));
        for other in patterns {
            if other != pattern {
                let parts: Vec<&str> = literal_parts(other);
                candidates.extend(instances(pattern, &parts));
            }
        }
    }
    let mut seen: BTreeSet<Vec<bool>> = BTreeSet::new();
    let mut found = Vec::new();
    for path in candidates {
        let sets: Vec<bool> = patterns
            .iter()
            .map(|one| path_matches(one, &path))
            .collect();
        if is_plain(&path) && seen.insert(sets) {
            found.push(path);
        }
    }
    let mut missed = Vec::new();
    for (index, one) in patterns.iter().enumerate() {
        if !seen.iter().any(|sets| sets.get(index) == Some(&true)) {
            missed.push(format!("no path was found that matches `{one}`"));
        }
        for (further, other) in patterns.iter().enumerate().skip(index + 1) {
            let both = |sets: &Vec<bool>| {
                sets.get(index) == Some(&true) && sets.get(further) == Some(&true)
            };
            if !seen.iter().any(both) && !apart(one, other) {
                missed.push(format!(
                    "a path that matches both `{one}` and `{other}` was not found, and may exist"
                ));
            }
        }
    }
    let all = patterns.len();
    let possible = |one: usize, other: usize| {
        let pair = patterns.get(one).zip(patterns.get(other));
        pair.is_some_and(|(one, other)| !apart(one, other))
    };
    for one in 0..all {
        for other in one + 1..all {
            for third in other + 1..all {
                let in_all = |sets: &Vec<bool>| {
                    [one, other, third]
                        .iter()
                        .all(|at| sets.get(*at) == Some(&true))
                };
                let may = possible(one, other) && possible(other, third) && possible(one, third);
                if may && missed.is_empty() && !seen.iter().any(in_all) {
                    missed.push(
                        "a path that matches three of the patterns was not found, and may exist"
                            .to_owned(),
                    );
                }
            }
        }
    }
    (found, missed)
}

fn is_plain(path: &str) -> bool {
    !path.is_empty() && !path.contains(['*', '?', '[', '{', '\\']) && !path.starts_with('/')
}

/// Writes paths that a pattern may match, with `fill` for what it leaves open.
fn instances(pattern: &str, fill: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for alternative in alternatives(pattern) {
        for word in fill.iter().chain(&["x"]) {
            let plain = word.trim_matches('/');
            let deep = alternative
                .replace("**", plain)
                .replace('*', plain.rsplit('/').next().unwrap_or("x"));
            all.push(sets(&deep));
            let last = plain.rsplit('/').next().unwrap_or("x");
            all.push(sets(
                &alternative
                    .replace("**/", "")
                    .replace("**", last)
                    .replace('*', last),
            ));
            all.push(sets(
                &alternative
                    .replace("**/", "a/b/")
                    .replace("**", "a/b")
                    .replace('*', last),
            ));
            let stem = last.split('.').next().unwrap_or("x");
            all.push(sets(
                &alternative
                    .replace("**/", "")
                    .replace("**", stem)
                    .replace('*', stem),
            ));
            all.push(sets(
                &alternative
                    .replace("**", plain.split('/').next().unwrap_or("x"))
                    .replace('*', stem),
            ));
        }
    }
    all
}

/// Ways to read a pattern, and stars in it, at most: more are not tried.
const PARTS_MAX: usize = 64;

/// Tells whether a pattern has more braces or stars than are tried.
fn is_wide(pattern: &str) -> bool {
    let braces = pattern.split('{').skip(1);
    let ways = braces.map(|part| {
        1 + part
            .split('}')
            .next()
            .unwrap_or_default()
            .matches(',')
            .count()
    });
    let ways = ways.fold(1_usize, usize::saturating_mul);
    ways > PARTS_MAX || pattern.matches('*').count() > 8
}

/// Writes out the braces of a pattern.
fn alternatives(pattern: &str) -> Vec<String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let Some((inner, after)) = rest.split_once('}') else {
        return vec![pattern.to_owned()];
    };
    inner
        .split(',')
        .take(16)
        .flat_map(|one| alternatives(&format!("{before}{one}{after}")))
        .collect()
}

/// Takes the first letter of each set, and a letter for each `?`.
fn sets(pattern: &str) -> String {
    let mut path = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '?' => path.push('x'),
            '[' => {
                let set: String = letters
                    .by_ref()
                    .take_while(|letter| *letter != ']')
                    .collect();
                match set.strip_prefix(['!', '^']) {
                    Some(not) => path.push(if not.contains('z') { '0' } else { 'z' }),
                    None => path.extend(set.chars().next()),
                }
            }
            other => path.push(other),
        }
    }
    path
}

/// Returns the pieces of a pattern without wildcards.
fn literal_parts(pattern: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = pattern
        .split(['*', '?', '[', ']', '{', '}', ','])
        .filter(|part| !part.trim_matches('/').is_empty())
        .collect();
    if is_plain(pattern) {
        parts.push(pattern);
    }
    parts
}

/// Tells whether no path can match both; where that is not certain, it is not told.
fn apart(one: &str, other: &str) -> bool {
    let split = |pattern: &str| -> Vec<Vec<String>> {
        let all = alternatives(pattern).into_iter();
        all.map(|one| one.split('/').map(str::to_owned).collect())
            .collect()
    };
    let (one, other) = (split(one), split(other));
    !one.iter()
        .any(|one| other.iter().any(|other| meet(one, other)))
}

/// Tells whether a path may match both lists of segments.
fn meet(one: &[String], other: &[String]) -> bool {
    let deep = |segment: &String| segment.contains("**");
    match (one.split_first(), other.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if deep(first) => {
            meet(rest, other)
                || other
                    .split_first()
                    .is_some_and(|(_, shorter)| meet(one, shorter))
        }
        (_, Some((first, rest))) if deep(first) => {
            meet(one, rest)
                || one
                    .split_first()
                    .is_some_and(|(_, shorter)| meet(shorter, other))
        }
        (Some((first, rest)), Some((second, further))) => {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            segments_meet(&letters(first), &letters(second)) && meet(rest, further)
        }
        _ => false,
    }
}

/// Tells the same of two segments; a set stands for any letters.
fn segments_meet(one: &[char], other: &[char]) -> bool {
    let any = |letter: &char| "*[]{}\\".contains(*letter);
    match (one.split_first(), other.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if any(first) => {
            segments_meet(rest, other)
                || other
                    .split_first()
                    .is_some_and(|(_, shorter)| segments_meet(one, shorter))
        }
        (_, Some((first, rest))) if any(first) => {
            segments_meet(one, rest)
                || one
                    .split_first()
                    .is_some_and(|(_, shorter)| segments_meet(shorter, other))
        }
        (Some((first, rest)), Some((second, further))) => {
            (first == second || *first == '?' || *second == '?') && segments_meet(rest, further)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use interlock_core::glob::path_matches;

    use super::witnesses;

    #[test]
    fn every_pattern_and_what_two_share_has_a_path() {
        let patterns = ["src/**/*.rs", "**/auth/**", "Cargo.toml", "docs/*.md"].map(str::to_owned);
        let (paths, missed) = witnesses(&patterns);
        assert_eq!(missed, Vec::<String>::new());
        let both =
            |path: &&String| path_matches("src/**/*.rs", path) && path_matches("**/auth/**", path);
        assert!(paths.iter().any(|path| both(&path)), "{paths:?}");
        assert!(paths.iter().any(|path| path == "Cargo.toml"), "{paths:?}");
    }

    #[test]
    fn what_cannot_be_ruled_out_is_said() {
        let (_, missed) = witnesses(&["a*b*c".to_owned(), "*q*r*".to_owned()]);
        assert!(
            missed.iter().all(|why| why.contains("may exist")),
            "{missed:?}"
        );
        assert!(!missed.is_empty());
        let (_, missed) = witnesses(&["a*b".to_owned(), "*c".to_owned(), "docs/**".to_owned()]);
        assert_eq!(missed, Vec::<String>::new());
    }
}
