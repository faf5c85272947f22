//! Compares two versions in lockstep: whatever is done is done in both, until one of them refuses it.

mod calls;
mod shown;

use std::collections::{BTreeSet, VecDeque};

use interlock_core::{
    names::FramePath,
    run::{Phase, Run},
};
use interlock_formats::Lines;

use super::{Comparison, Side, asks, asks_at, packed, standing};
use crate::{
    atlas::{Leaf, State},
    calls::Usable,
    facts::leaves,
    hash::{Map, Set, short},
    key::{move_seen, order_alike},
    model::{Model, Standing},
    moves::{Act, Tried, Try, attempt, events_of, starts},
};

/// Compares the sides, and adds the results.
pub(super) fn compare(
    sides: [Side; 2],
    mut found: Comparison,
    max: usize,
    lines: Option<&Lines>,
) -> Comparison {
    let mut search = Search::new(sides, max);
    search.begin();
    while search.permitted.is_none()
        && let Some(pair) = search.waiting.pop_front()
    {
        search.expand(pair);
    }
    if !search.whole {
        found.doubt = Some(format!("bound: more than {max} pairs of states"));
    }
    found.pairs = search.keys.len();
    found.removed = search.removed.iter().cloned().collect();
    if let Some((pair, act, what)) = search.permitted.take() {
        match search.shown(pair, &act, &what, lines) {
            Ok(permission) => found.permitted = Some(permission),
            Err(why) => {
                found.doubt = Some(format!(
                    "{what}, but the run that shows it does not replay: {why}"
                ));
            }
        }
    }
    found
}

/// A run of each version after the same steps.
#[derive(Debug)]
struct Pair {
    new: Run,
    old: Run,
    /// The previous pair, and what was done there.
    from: u32,
    act: Act,
    /// Whether only the new version was stepped.
    alone: bool,
}

/// A call as both versions judge it.
type Judged = (Option<Usable>, Option<Usable>);
/// A key of evidence, at its index in each version.
type Place = (Option<usize>, Option<usize>);
/// A state of each version.
type Key = (Box<[u32]>, Box<[u32]>);

struct Search {
    new: Side,
    old: Side,
    max: usize,
    whole: bool,
    keys: Set<Key>,
    pairs: Vec<Pair>,
    waiting: VecDeque<usize>,
    calls: Map<(Standing, Standing), Vec<Judged>>,
    /// Groups of keys of evidence that count alike in both versions.
    alike: Vec<Vec<String>>,
    permitted: Option<(usize, Act, String)>,
    removed: BTreeSet<String>,
}

impl Search {
    fn new([new, old]: [Side; 2], max: usize) -> Self {
        let alike = new.model.alike.iter().flat_map(|group| {
            let parts = old.model.alike.iter().map(|other| {
                let both = group.iter().filter(|key| other.contains(key));
                both.cloned().collect::<Vec<_>>()
            });
            parts.filter(|part| part.len() > 1).collect::<Vec<_>>()
        });
        Self {
            alike: alike.collect(),
            new,
            old,
            max,
            whole: true,
            keys: Set::default(),
            pairs: Vec::new(),
            waiting: VecDeque::new(),
            calls: Map::default(),
            permitted: None,
            removed: BTreeSet::new(),
        }
    }

    fn begin(&mut self) {
        let (new, old) = (starts(&self.new.model), starts(&self.old.model));
        for one in new {
            let other = old.iter().find(|other| other.act == one.act);
            if let Some(other) = other {
                self.enter(one.run, other.run.clone(), u32::MAX, one.act, false);
            }
        }
    }

    /// Adds a pair of runs if it is new.
    fn enter(&mut self, mut new: Run, mut old: Run, from: u32, act: Act, alone: bool) {
        self.order(&mut new, &mut old);
        let key = (
            packed(&mut self.new, &new).packed(),
            packed(&mut self.old, &old).packed(),
        );
        if self.keys.contains(&key) {
            return;
        }
        if self.keys.len() >= self.max {
            self.whole = false;
            return;
        }
        self.keys.insert(key);
        self.waiting.push_back(self.pairs.len());
        self.pairs.push(Pair {
            new,
            old,
            from,
            act,
            alone,
        });
    }

    /// Normalizes what was seen of commands that count alike, in both versions at once.
    fn order(&mut self, new: &mut Run, old: &mut Run) {
        if self.alike.is_empty() || asks(new) || asks(old) {
            return;
        }
        let (one, other) = (packed(&mut self.new, new), packed(&mut self.old, old));
        let index =
            |model: &Model, key: &String| model.evidence.keys().position(|known| known == key);
        let word =
            |state: &State, at: Option<usize>| at.and_then(|at| state.words.get(at)).copied();
        for group in &self.alike {
            let places: Vec<Place> = group
                .iter()
                .map(|key| (index(&self.new.model, key), index(&self.old.model, key)))
                .collect();
            let mut words: Vec<(Option<u32>, Option<u32>)> = places
                .iter()
                .map(|(a, b)| (word(&one, *a), word(&other, *b)))
                .collect();
            let all = vec![(0..words.len()).collect::<Vec<usize>>()];
            let moved = order_alike(&all, &mut words);
            let of = |side: fn(&Place) -> Option<usize>| -> Vec<(usize, usize)> {
                moved
                    .iter()
                    .filter_map(|(from, to)| {
                        Some((side(places.get(*from)?)?, side(places.get(*to)?)?))
                    })
                    .collect()
            };
            move_seen(&self.new.model, new, &of(|place| place.0));
            move_seen(&self.old.model, old, &of(|place| place.1));
        }
    }

    fn expand(&mut self, number: usize) {
        let Some(pair) = self.pairs.get(number) else {
            return;
        };
        let (new, old) = (pair.new.clone(), pair.old.clone());
        if old.phase != Phase::Open {
            // After its end, the old version judges nothing, so nothing is newly permitted.
            return;
        }
        let both = leaves(&new).into_iter().chain(leaves(&old));
        let mut paths: Vec<FramePath> = Vec::new();
        for path in both {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        for path in paths {
            if new.phase != Phase::Open {
                // A run that has ended does not guard anything any more.
                let what = "the run has ended, and nothing is judged any more".to_owned();
                self.difference(number, &Act::Start(0), what, true);
                return;
            }
            self.leaf(number, &new, &old, &path);
        }
    }

    fn difference(&mut self, pair: usize, act: &Act, what: String, permits: bool) {
        if permits {
            if self.permitted.is_none() {
                self.permitted = Some((pair, act.clone(), what));
            }
        } else {
            self.removed.insert(what);
        }
    }

    /// Does everything that may be done at one leaf, in both versions.
    fn leaf(&mut self, number: usize, new: &Run, old: &Run, path: &FramePath) {
        let (Some(one), Some(other)) = (standing(new, path), standing(old, path)) else {
            return;
        };
        if one.asks {
            self.answers(number, new, old, (&one, &other));
            if other.asks {
                return;
            }
        }
        let state = |side: &Side, leaf: &Leaf| {
            let state = side.model.state(leaf.standing.0.as_ref(), &leaf.standing.1);
            state.map_or_else(Vec::new, |state| events_of(state).collect())
        };
        let mut events: Vec<String> = state(&self.new, &one);
        for event in state(&self.old, &other) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
        for event in events {
            for data in 0..self.new.model.cells.data.len() {
                let what = Try::Event(event.clone(), data);
                let said = format!("`{event}` from `{}`", one.standing.1);
                if !self.both(number, (new, &one), (old, &other), &what, &said) && data == 0 {
                    break;
                }
            }
        }
        self.calls(number, new, old, (&one, &other));
    }

    /// Tries something in both versions; returns `false` if both refuse it.
    fn both(
        &mut self,
        number: usize,
        (new, one): (&Run, &Leaf),
        (old, other): (&Run, &Leaf),
        what: &Try,
        said: &str,
    ) -> bool {
        let made = attempt(&self.new.model, new, one, what).done;
        let before = attempt(&self.old.model, old, other, what).done;
        match (made, before) {
            (None, None) => return false,
            (Some(made), None) => self.difference(number, &made.act, said.to_owned(), true),
            (None, Some(_)) => self.difference(number, &Act::Start(0), said.to_owned(), false),
            (Some(made), Some(before)) => {
                let (asks_now, asked) = (asks_at(&made, one), asks_at(&before, other));
                if asked && !asks_now {
                    let said = format!("{said} without a person");
                    self.difference(number, &made.act, said, true);
                } else {
                    if asks_now && !asked {
                        self.removed.insert(format!("{said} without a person"));
                    }
                    self.enter(made.run, before.run, short(number), made.act, false);
                }
            }
        }
        true
    }

    /// Lets a person answer; if only the new version asks, only that one is answered.
    fn answers(&mut self, number: usize, new: &Run, old: &Run, (one, other): (&Leaf, &Leaf)) {
        if other.asks {
            for data in 0..self.new.model.cells.data.len() {
                let said = format!("an answer in `{}`", one.standing.1);
                self.both(number, (new, one), (old, other), &Try::Yes(data), &said);
            }
            let said = format!("a no in `{}`", one.standing.1);
            self.both(number, (new, one), (old, other), &Try::No, &said);
            return;
        }
        let Tried { done, .. } = attempt(&self.new.model, new, one, &Try::Yes(0));
        if let Some(done) = done {
            self.enter(done.run, old.clone(), short(number), done.act, true);
        }
    }
}
