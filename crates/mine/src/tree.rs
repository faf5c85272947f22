//! The inductive miner: finds an order that all given sequences follow.

use std::collections::{BTreeMap, BTreeSet};

/// An order of activities, as a process tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree<A> {
    /// No activity.
    Silent,
    /// One activity.
    Leaf(A),
    /// The parts, one after the other.
    Sequence(Vec<Tree<A>>),
    /// One of the parts.
    Choice(Vec<Tree<A>>),
    /// All parts, in any order.
    Parallel(Vec<Tree<A>>),
    /// The first part, repeated after each execution of the second.
    Loop(Box<Tree<A>>, Box<Tree<A>>),
}

/// Finds an order that every sequence follows; returns `None` if there is none but anything in any order.
pub fn order<A: Ord + Copy>(log: &[Vec<A>]) -> Option<Tree<A>> {
    let full: Vec<Vec<A>> = log
        .iter()
        .filter(|trace| !trace.is_empty())
        .cloned()
        .collect();
    if full.is_empty() {
        return Some(Tree::Silent);
    }
    if full.len() < log.len() {
        return Some(Tree::Choice(vec![Tree::Silent, order(&full)?]));
    }
    let all: BTreeSet<A> = full.iter().flatten().copied().collect();
    if let (Some(only), 1) = (all.first(), all.len()) {
        let leaf = Tree::Leaf(*only);
        let once = full.iter().all(|trace| trace.len() == 1);
        return Some(if once {
            leaf
        } else {
            Tree::Loop(Box::new(leaf), Box::new(Tree::Silent))
        });
    }
    let follows = Follows::of(&full);
    choice(&full, &all, &follows)
        .or_else(|| sequence(&full, &all, &follows))
        .or_else(|| parallel(&full, &all, &follows))
        .or_else(|| repeated(&full, &all, &follows))
        .or_else(|| again(&full, &follows))
}

/// The directly-follows relation of a log, with its first and last activities.
struct Follows<A> {
    pairs: BTreeSet<(A, A)>,
    first: BTreeSet<A>,
    last: BTreeSet<A>,
}

impl<A: Ord + Copy> Follows<A> {
    fn of(log: &[Vec<A>]) -> Self {
        let pairs = log
            .iter()
            .flat_map(|trace| trace.iter().zip(trace.iter().skip(1)));
        Self {
            pairs: pairs.map(|(one, other)| (*one, *other)).collect(),
            first: log
                .iter()
                .filter_map(|trace| trace.first())
                .copied()
                .collect(),
            last: log
                .iter()
                .filter_map(|trace| trace.last())
                .copied()
                .collect(),
        }
    }

    fn has(&self, one: A, other: A) -> bool {
        self.pairs.contains(&(one, other))
    }

    /// Returns the pairs of activities of which the second is reachable from the first, in one step or more.
    fn reached(&self, all: &BTreeSet<A>) -> BTreeSet<(A, A)> {
        let mut reached = self.pairs.clone();
        for via in all {
            for one in all {
                for other in all {
                    if reached.contains(&(*one, *via)) && reached.contains(&(*via, *other)) {
                        reached.insert((*one, *other));
                    }
                }
            }
        }
        reached
    }
}

/// Groups activities into connected parts; the parts are sorted by their first activities.
fn parts<A: Ord + Copy>(all: &BTreeSet<A>, joined: impl Fn(A, A) -> bool) -> Vec<BTreeSet<A>> {
    let mut parts: Vec<BTreeSet<A>> = Vec::new();
    for one in all {
        let (with, without): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| {
            part.iter()
                .any(|other| joined(*one, *other) || joined(*other, *one))
        });
        let mut part: BTreeSet<A> = with.into_iter().flatten().collect();
        part.insert(*one);
        parts = without;
        parts.push(part);
    }
    parts.sort();
    parts
}

fn project<A: Ord + Copy>(log: &[Vec<A>], part: &BTreeSet<A>) -> Vec<Vec<A>> {
    let within = |trace: &Vec<A>| {
        trace
            .iter()
            .filter(|one| part.contains(one))
            .copied()
            .collect()
    };
    log.iter().map(within).collect()
}

fn choice<A: Ord + Copy>(
    log: &[Vec<A>],
    all: &BTreeSet<A>,
    follows: &Follows<A>,
) -> Option<Tree<A>> {
    let parts = parts(all, |one, other| follows.has(one, other));
    if parts.len() < 2 {
        return None;
    }
    let of_part = |part: &BTreeSet<A>| {
        let own = log
            .iter()
            .filter(|trace| trace.first().is_some_and(|one| part.contains(one)));
        order(&own.cloned().collect::<Vec<_>>())
    };
    Some(Tree::Choice(
        parts.iter().map(of_part).collect::<Option<_>>()?,
    ))
}

fn sequence<A: Ord + Copy>(
    log: &[Vec<A>],
    all: &BTreeSet<A>,
    follows: &Follows<A>,
) -> Option<Tree<A>> {
    let reached = follows.reached(all);
    let both = |one, other| reached.contains(&(one, other)) == reached.contains(&(other, one));
    let mut parts = parts(all, both);
    if parts.len() < 2 {
        return None;
    }
    let before = |one: &BTreeSet<A>, other: &BTreeSet<A>| {
        one.iter()
            .any(|one| other.iter().any(|other| reached.contains(&(*one, *other))))
    };
    // A part with fewer parts before it comes first: the parts are in a total order.
    let ahead = |part: &BTreeSet<A>, parts: &[BTreeSet<A>]| {
        parts
            .iter()
            .filter(|other| *other != part && before(other, part))
            .count()
    };
    let known = parts.clone();
    parts.sort_by_key(|part| ahead(part, &known));
    let trees = parts.iter().map(|part| order(&project(log, part)));
    Some(Tree::Sequence(trees.collect::<Option<_>>()?))
}

fn parallel<A: Ord + Copy>(
    log: &[Vec<A>],
    all: &BTreeSet<A>,
    follows: &Follows<A>,
) -> Option<Tree<A>> {
    let apart = |one, other| one != other && !(follows.has(one, other) && follows.has(other, one));
    let parts = parts(all, apart);
    let ends =
        |part: &BTreeSet<A>| !part.is_disjoint(&follows.first) && !part.is_disjoint(&follows.last);
    if parts.len() < 2 || !parts.iter().all(ends) {
        return None;
    }
    let trees = parts.iter().map(|part| order(&project(log, part)));
    Some(Tree::Parallel(trees.collect::<Option<_>>()?))
}

/// Finds a loop: a body that is repeated with other activities in between.
fn repeated<A: Ord + Copy>(
    log: &[Vec<A>],
    all: &BTreeSet<A>,
    follows: &Follows<A>,
) -> Option<Tree<A>> {
    let mut body: BTreeSet<A> = follows.first.union(&follows.last).copied().collect();
    let outside: BTreeSet<A> = all.difference(&body).copied().collect();
    let mut redo: BTreeSet<A> = BTreeSet::new();
    for part in parts(&outside, |one, other| follows.has(one, other)) {
        let enters_late = follows.pairs.iter().any(|(from, to)| {
            part.contains(to) && !part.contains(from) && !follows.last.contains(from)
        });
        let leaves_early = follows.pairs.iter().any(|(from, to)| {
            part.contains(from) && !part.contains(to) && !follows.first.contains(to)
        });
        if enters_late || leaves_early {
            body.extend(part);
        } else {
            redo.extend(part);
        }
    }
    if redo.is_empty() {
        return None;
    }
    let (mut bodies, mut redone) = (Vec::new(), Vec::new());
    for trace in log {
        let mut piece = Vec::new();
        let mut in_body = true;
        for one in trace {
            if body.contains(one) != in_body {
                let done = std::mem::take(&mut piece);
                if in_body { &mut bodies } else { &mut redone }.push(done);
                in_body = !in_body;
            }
            piece.push(*one);
        }
        if in_body { &mut bodies } else { &mut redone }.push(piece);
    }
    Some(Tree::Loop(
        Box::new(order(&bodies)?),
        Box::new(order(&redone)?),
    ))
}

/// Cuts sequences after an activity that may be last where one that may be first follows.
fn again<A: Ord + Copy>(log: &[Vec<A>], follows: &Follows<A>) -> Option<Tree<A>> {
    let mut pieces: Vec<Vec<A>> = Vec::new();
    for trace in log {
        let mut piece: Vec<A> = Vec::new();
        for one in trace {
            let ended = piece.last().is_some_and(|last| follows.last.contains(last));
            if ended && follows.first.contains(one) {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.push(*one);
        }
        pieces.push(piece);
    }
    if pieces.len() == log.len() {
        return None;
    }
    Some(Tree::Loop(
        Box::new(order(&pieces)?),
        Box::new(Tree::Silent),
    ))
}

/// The first and last activities of an order, and the pairs that may follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ways<A: Ord> {
    pub(crate) first: BTreeSet<A>,
    pub(crate) last: BTreeSet<A>,
    pub(crate) pairs: BTreeSet<(A, A)>,
    /// Whether the order allows no activity at all.
    pub(crate) empty: bool,
}

impl<A: Ord + Copy> Ways<A> {
    fn nothing() -> Self {
        Self {
            first: BTreeSet::new(),
            last: BTreeSet::new(),
            pairs: BTreeSet::new(),
            empty: true,
        }
    }

    /// Derives them from a tree.
    pub(crate) fn of(tree: &Tree<A>) -> Self {
        match tree {
            Tree::Silent => Self::nothing(),
            Tree::Leaf(one) => Self {
                first: BTreeSet::from([*one]),
                last: BTreeSet::from([*one]),
                pairs: BTreeSet::new(),
                empty: false,
            },
            Tree::Sequence(parts) => parts
                .iter()
                .map(Self::of)
                .fold(Self::nothing(), |before, next| before.then(&next)),
            Tree::Choice(parts) => {
                let mut all = Self {
                    empty: false,
                    ..Self::nothing()
                };
                for part in parts.iter().map(Self::of) {
                    all.empty |= part.empty;
                    all.first.extend(part.first);
                    all.last.extend(part.last);
                    all.pairs.extend(part.pairs);
                }
                all
            }
            // Parallel activities form one group by now.
            Tree::Parallel(parts) => Self::of(&Tree::Loop(
                Box::new(Tree::Choice(parts.clone())),
                Box::new(Tree::Silent),
            )),
            Tree::Loop(body, redo) => {
                let (body, redo) = (Self::of(body), Self::of(redo));
                let mut all = body.clone();
                all.pairs.extend(redo.pairs.iter().copied());
                let mut join = |from: &BTreeSet<A>, to: &BTreeSet<A>| {
                    let pairs = from
                        .iter()
                        .flat_map(|one| to.iter().map(move |other| (*one, *other)));
                    all.pairs.extend(pairs);
                };
                join(&body.last, &redo.first);
                join(&redo.last, &body.first);
                if redo.empty {
                    join(&body.last, &body.first);
                }
                all
            }
        }
    }

    fn then(self, next: &Self) -> Self {
        let mut all = self.clone();
        let joined = self
            .last
            .iter()
            .flat_map(|one| next.first.iter().map(move |other| (*one, *other)));
        all.pairs.extend(joined);
        all.pairs.extend(next.pairs.iter().copied());
        if self.empty {
            all.first.extend(next.first.iter().copied());
        }
        if next.empty {
            all.last.extend(next.last.iter().copied());
        } else {
            all.last.clone_from(&next.last);
        }
        all.empty = self.empty && next.empty;
        all
    }
}

/// Maps each activity to the leader of its group: activities that may come in any order form one group.
pub(crate) fn groups<A: Ord + Copy>(tree: &Tree<A>) -> BTreeMap<A, A> {
    let mut groups = BTreeMap::new();
    collect(tree, None, &mut groups);
    groups
}

fn collect<A: Ord + Copy>(tree: &Tree<A>, into: Option<A>, groups: &mut BTreeMap<A, A>) {
    match tree {
        Tree::Silent => {}
        Tree::Leaf(one) => {
            groups.insert(*one, into.unwrap_or(*one));
        }
        Tree::Parallel(parts) => {
            let leader = into.or_else(|| least(tree));
            parts.iter().for_each(|part| collect(part, leader, groups));
        }
        Tree::Sequence(parts) | Tree::Choice(parts) => {
            parts.iter().for_each(|part| collect(part, into, groups));
        }
        Tree::Loop(body, redo) => {
            collect(body, into, groups);
            collect(redo, into, groups);
        }
    }
}

fn least<A: Ord + Copy>(tree: &Tree<A>) -> Option<A> {
    match tree {
        Tree::Silent => None,
        Tree::Leaf(one) => Some(*one),
        Tree::Sequence(parts) | Tree::Choice(parts) | Tree::Parallel(parts) => {
            parts.iter().filter_map(least).min()
        }
        Tree::Loop(body, redo) => [least(body), least(redo)].into_iter().flatten().min(),
    }
}
