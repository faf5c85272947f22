//! Paths that stand for all paths: one for each set of patterns that a path may match.
//!
//! The patterns are read by the library that matches them, and what it makes of them is walked through
//! for all at once, so that no set that a path can match is missed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use interlock_core::glob::{as_expression, path_matches};
use regex_automata::{
    nfa::thompson::{NFA, State},
    util::{look::Look, primitives::StateID},
};

use crate::hash::{Set, at, number, short};

/// The path that matches no pattern, where it does not.
const OTHER: &str = "zz-other/zz-file.zz";
/// Sets of places in the patterns at most: more are not walked through.
const SETS_MAX: usize = 20_000;
/// Sets of paths that one call may write at most.
const UNIONS_MAX: usize = 64;
/// Files that one call writes at most: fewer than are told apart of what is left of a limit.
const TOGETHER_MAX: usize = 12;
/// Letters of the paths that are tried, the plainest first.
const LETTERS: &[u8] = b"xabcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";

/// What calls may write.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// A path for each set of patterns that one may match.
    pub(crate) single: Vec<String>,
    /// Several paths for each set that only several match together.
    pub(crate) several: Vec<Vec<String>>,
    /// Where one may be missing.
    pub(crate) missed: Vec<String>,
}

impl Paths {
    /// Finds paths for every set; `usable` tells whether a file may be written at all, whatever the workflow says.
    pub(crate) fn of(patterns: &[String], usable: &dyn Fn(&str) -> bool) -> Self {
        let found = Self::walked(patterns, &[], usable);
        let parts: Vec<String> = patterns.iter().flat_map(|one| alternatives(one)).collect();
        if found.missed.is_empty() || parts.is_empty() {
            return found;
        }
        // Each way to read braces by itself: one of them may be protected where another is not.
        Self::walked(patterns, &parts, usable)
    }

    fn walked(patterns: &[String], parts: &[String], usable: &dyn Fn(&str) -> bool) -> Self {
        let mut paths = Self::default();
        let Some(walk) = Walk::of(patterns.iter().chain(parts)) else {
            paths.single.push(OTHER.to_owned());
            let why = "patterns of files are too many to be tried together";
            paths.missed.push(why.to_owned());
            return paths;
        };
        let matched = |path: &str| -> Vec<bool> {
            let all = patterns.iter();
            all.map(|one| path_matches(one, path)).collect()
        };
        let (plain, all_plain) = walk.paths(LETTERS, true);
        let mut by_set: BTreeMap<Vec<bool>, Option<String>> = BTreeMap::new();
        for path in std::iter::once(OTHER.to_owned()).chain(plain) {
            let found = by_set.entry(matched(&path)).or_default();
            if found.is_none() && usable(&path) {
                *found = Some(path);
            }
        }
        let every: Vec<u8> = (1..=u8::MAX).collect();
        let (odd, all_odd) = match walk.tells_others_apart() {
            true => walk.paths(&every, false),
            false => (Vec::new(), true),
        };
        if odd.iter().any(|path| !by_set.contains_key(&matched(path))) {
            let why = "files with unusual names are not tried";
            paths.missed.push(why.to_owned());
        }
        if !(all_plain && all_odd) {
            let why = "patterns of files are too long to be tried together";
            paths.missed.push(why.to_owned());
        }
        for (set, found) in by_set {
            let names = patterns.iter().zip(&set).filter(|(_, is)| **is);
            let names: Vec<String> = names.map(|(name, _)| format!("`{name}`")).collect();
            match found {
                Some(path) => paths.single.push(path),
                None => paths.missed.push(format!(
                    "of the files that {} matches none is tried: those found are protected",
                    names.join(" and ")
                )),
            }
        }
        paths.unite(&matched);
        paths
    }

    /// Finds several paths for each set that no single one matches.
    fn unite(&mut self, matched: &dyn Fn(&str) -> Vec<bool>) {
        let single: Vec<(Vec<bool>, String)> = self
            .single
            .iter()
            .map(|path| (matched(path), path.clone()))
            .collect();
        let mut known: BTreeSet<Vec<bool>> = single.iter().map(|(set, _)| set.clone()).collect();
        let mut waiting: VecDeque<(Vec<bool>, Vec<String>)> = single
            .iter()
            .map(|(set, path)| (set.clone(), vec![path.clone()]))
            .collect();
        while let Some((set, paths)) = waiting.pop_front() {
            for (other, path) in &single {
                let both: Vec<bool> = set
                    .iter()
                    .zip(other)
                    .map(|(one, other)| *one || *other)
                    .collect();
                if !known.insert(both.clone()) {
                    continue;
                }
                if self.several.len() >= UNIONS_MAX || paths.len() >= TOGETHER_MAX {
                    self.missed.push(
                        "files that match different patterns are not written together in every combination".to_owned(),
                    );
                    return;
                }
                let mut longer = paths.clone();
                longer.push(path.clone());
                self.several.push(longer.clone());
                waiting.push_back((both, longer));
            }
        }
    }
}

/// All patterns as one machine that reads a path letter by letter.
struct Walk {
    nfa: NFA,
}

/// Where in its segment a path is: at its start, behind a dot, behind two, or further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Segment {
    Start,
    Dot,
    Dots,
    Named,
}

impl Segment {
    /// Goes on with a letter; `None`: no path of a file has it there, or no plain one.
    const fn then(self, letter: u8, plain: bool) -> Option<Self> {
        match (self, letter) {
            (Self::Named, b'/') => Some(Self::Start),
            (_, b'/') => None,
            // A command would take it for an option.
            (Self::Start, b'-') if plain => None,
            (Self::Start, b'.') => Some(Self::Dot),
            (Self::Dot, b'.') => Some(Self::Dots),
            _ => Some(Self::Named),
        }
    }
}

impl Walk {
    fn of<'p>(patterns: impl Iterator<Item = &'p String>) -> Option<Self> {
        let written: Option<Vec<String>> = patterns.map(|one| as_expression(one).ok()).collect();
        // As the library compiles what it has written.
        let syntax = regex_automata::util::syntax::Config::new()
            .utf8(false)
            .dot_matches_new_line(true);
        let built = NFA::compiler()
            .configure(NFA::config().utf8(false))
            .syntax(syntax)
            .build_many(&written?);
        built.ok().map(|nfa| Self { nfa })
    }

    /// Returns whether some pattern tells letters apart that no plain letter stands for.
    fn tells_others_apart(&self) -> bool {
        let classes = self.nfa.byte_classes();
        let plain: BTreeSet<u8> = LETTERS.iter().map(|letter| classes.get(*letter)).collect();
        (1..=u8::MAX).any(|letter| !plain.contains(&classes.get(letter)))
    }

    /// Returns a shortest path to each set of patterns over these letters, and whether all sets were looked at.
    fn paths(&self, letters: &[u8], plain: bool) -> (Vec<String>, bool) {
        let classes = self.nfa.byte_classes();
        let mut seen = BTreeSet::new();
        // One letter of each class, but those that paths are made of each by itself.
        let is_new =
            |letter: &u8| matches!(letter, b'/' | b'.' | b'-') || seen.insert(classes.get(*letter));
        let letters: Vec<u8> = letters.iter().copied().filter(is_new).collect();
        let begin = self.follow(vec![self.nfa.start_anchored()], true);
        let mut states: Set<(Vec<StateID>, Segment)> = Set::default();
        number(&mut states, (begin, Segment::Start));
        let mut from: Vec<(u32, u8)> = vec![(u32::MAX, 0)];
        let mut next = 0;
        let mut found: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut paths = Vec::new();
        while let Some((places, segment)) = states.get_index(next).cloned() {
            if segment == Segment::Named && found.insert(self.matching(&places)) {
                paths.extend(written(&from, next));
            }
            for letter in &letters {
                let Some(segment) = segment.then(*letter, plain) else {
                    continue;
                };
                let after = (self.follow(self.step(&places, *letter), false), segment);
                if states.len() >= SETS_MAX {
                    return (paths, false);
                }
                if at(number(&mut states, after)) == from.len() {
                    from.push((short(next), *letter));
                }
            }
            next += 1;
        }
        (paths, true)
    }

    fn step(&self, places: &[StateID], letter: u8) -> Vec<StateID> {
        let next = places
            .iter()
            .filter_map(|place| match self.nfa.state(*place) {
                State::ByteRange { trans } => trans.matches_byte(letter).then_some(trans.next),
                State::Sparse(sparse) => sparse.matches_byte(letter),
                State::Dense(dense) => dense.matches_byte(letter),
                _ => None,
            });
        next.collect()
    }

    /// Adds every place that is reached without a letter; at its end a path is looked at by [`Self::matching`].
    fn follow(&self, places: Vec<StateID>, begins: bool) -> Vec<StateID> {
        let mut all = self.closure(places, &|look| begins && look == Look::Start);
        let goes_on = |place: &StateID| {
            let state = self.nfa.state(*place);
            !state.is_epsilon() || matches!(state, State::Look { .. })
        };
        all.retain(goes_on);
        all
    }

    fn closure(&self, places: Vec<StateID>, holds: &dyn Fn(Look) -> bool) -> Vec<StateID> {
        let mut all: BTreeSet<StateID> = BTreeSet::new();
        let mut waiting = places;
        while let Some(place) = waiting.pop() {
            if !all.insert(place) {
                continue;
            }
            match self.nfa.state(place) {
                State::Union { alternates } => waiting.extend(alternates.iter().copied()),
                State::BinaryUnion { alt1, alt2 } => waiting.extend([*alt1, *alt2]),
                State::Capture { next, .. } => waiting.push(*next),
                State::Look { look, next } if holds(*look) => waiting.push(*next),
                _ => {}
            }
        }
        all.into_iter().collect()
    }

    /// Returns the patterns that a path matches which ends here.
    fn matching(&self, places: &[StateID]) -> Vec<usize> {
        let ends = self.closure(places.to_vec(), &|look| look == Look::End);
        let mut patterns: Vec<usize> = ends
            .iter()
            .filter_map(|place| match self.nfa.state(*place) {
                State::Match { pattern_id } => Some(pattern_id.as_usize()),
                _ => None,
            })
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }
}

/// Writes the letters that led to a set; what is not text is no path that is tried.
fn written(from: &[(u32, u8)], set: usize) -> Option<String> {
    let mut letters = Vec::new();
    let mut now = set;
    while let Some((before, letter)) = from.get(now)
        && *before != u32::MAX
    {
        letters.push(*letter);
        now = at(*before);
    }
    letters.reverse();
    Some(String::from_utf8_lossy(&letters).into_owned())
}

/// Ways to read the braces of a pattern at most.
const ALTERNATIVES_MAX: usize = 8;

/// Writes out the outermost braces of a pattern; of too many, none.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return Vec::new();
    };
    let Some((inner, after)) = rest
        .split_once('}')
        .filter(|(inner, _)| !inner.contains('{'))
    else {
        return Vec::new();
    };
    let all: Vec<String> = inner
        .split(',')
        .map(|one| format!("{before}{one}{after}"))
        .collect();
    if all.len() > ALTERNATIVES_MAX {
        Vec::new()
    } else {
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use interlock_core::glob::path_matches;

    use super::Paths;

    fn paths(patterns: &[&str]) -> Paths {
        let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
        Paths::of(&patterns, &|path| !path.starts_with(".git/"))
    }

    fn sets(patterns: &[&str], paths: &[String]) -> BTreeSet<Vec<bool>> {
        let set = |path: &String| patterns.iter().map(|one| path_matches(one, path)).collect();
        paths.iter().map(set).collect()
    }

    #[test]
    fn each_set_of_patterns_that_a_path_may_match_has_a_path() {
        let patterns = ["src/**/*.rs", "**/auth/**", "Cargo.toml", "docs/*.md"];
        let found = paths(&patterns);
        assert_eq!(found.missed, Vec::<String>::new());
        let sets = sets(&patterns, &found.single);
        assert!(sets.contains(&vec![true, true, false, false]), "{found:?}");
        assert!(sets.contains(&vec![false, false, true, false]), "{found:?}");
        assert_eq!(sets.len(), 6, "{found:?}");
    }

    #[test]
    fn three_patterns_with_stars_everywhere_are_no_riddle() {
        let patterns = ["a*b*c", "*q*r*", "**/*q*c"];
        let found = paths(&patterns);
        assert_eq!(found.missed, Vec::<String>::new());
        // What the first two match holds a `q` and ends with `c`, so that the third matches it, too.
        assert_eq!(sets(&patterns, &found.single).len(), 7, "{found:?}");
    }

    #[test]
    fn sets_and_what_they_leave_out_are_told_apart() {
        let patterns = ["src/[!0-9]*", "src/*"];
        let found = paths(&patterns);
        assert_eq!(found.missed, Vec::<String>::new());
        assert_eq!(
            sets(&patterns, &found.single),
            BTreeSet::from([vec![false, false], vec![false, true], vec![true, true]])
        );
    }

    #[test]
    fn of_alternatives_one_is_taken_that_may_be_written() {
        let found = paths(&["{.git/hooks,.github}/**"]);
        assert_eq!(found.missed, Vec::<String>::new());
        assert!(
            found.single.iter().any(|path| path.starts_with(".github/")),
            "{found:?}"
        );
        let none = paths(&[".git/hooks/*"]);
        assert_eq!(none.missed.len(), 1, "{none:?}");
    }

    #[test]
    fn what_only_several_files_match_has_several() {
        let found = paths(&["a/**", "b/**", "c/**"]);
        assert_eq!(found.missed, Vec::<String>::new());
        assert_eq!(
            (found.single.len(), found.several.len()),
            (4, 4),
            "{found:?}"
        );
    }

    #[test]
    fn names_that_are_not_tried_are_said() {
        let found = paths(&["a b/*"]);
        assert_eq!(found.missed, ["files with unusual names are not tried"]);
    }
}
