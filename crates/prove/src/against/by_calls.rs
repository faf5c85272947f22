//! Compares two versions by their calls only: the names of states and events do not count.
//!
//! The new version is run; each of its runs is paired with every run of the old version in which the same calls
//! ended alike and the same people said yes or no. Events are free in both: an agent takes any of them.
//! The end of a run counts like a call: after it, nothing is judged.

mod calls;
mod form;
mod shown;
mod version;

use std::{
    collections::{BTreeSet, VecDeque},
    rc::Rc,
};

use interlock_core::run::{Phase, Run};
use interlock_formats::Lines;

use super::{Comparison, Side, asks_at, doubt_of, standing};
use crate::{
    calls::Usable,
    facts::leaves,
    hash::{Map, Set, short},
    model::Standing,
    moves::{Act, Done, Try, attempt, events_of, starts},
};
use form::Alike;
use version::Version;

/// The maximum number of runs of the old version paired with one of the new version.
const BESIDE_MAX: usize = 4_096;
/// The maximum number of steps of the old version that are checked in each direction.
const STEPS_MAX: usize = 400_000;
/// The number of calls up to which a limit is used up call by call.
const CALLS_MAX: u64 = 1_000;

/// Compares `new` with `old` in both directions; of the removed calls, only the first is named.
pub(super) fn compare(sides: [Side; 2], max: usize, lines: Option<&Lines>) -> Comparison {
    let mut found = Comparison {
        permitted: None,
        removed: Vec::new(),
        doubt: doubt_of(&sides),
        pairs: 0,
    };
    let mut versions = sides.map(Version::new);
    let forward = Search::of(&mut versions, max);
    found.pairs = forward.nodes.len();
    if let Some(first) = &forward.first {
        match forward.shown(&versions[0].side, first, lines) {
            Ok(permission) => found.permitted = Some(permission),
            Err(why) => {
                found.doubt = Some(format!(
                    "{}, but the run that shows it does not replay: {why}",
                    first.what
                ));
            }
        }
    }
    let mut bound = forward.bound;
    versions.reverse();
    let backward = Search::of(&mut versions, max);
    found.pairs += backward.nodes.len();
    found.removed = backward.first.into_iter().map(|first| first.what).collect();
    bound = bound.or(backward.bound);
    found.doubt = bound.or(found.doubt);
    found
}

/// Runs of the old version after the same calls.
#[derive(Debug, Clone, Copy)]
struct Beside {
    /// The list of the runs themselves.
    runs: usize,
    /// The number of the list when used-up limits do not count.
    plain: usize,
}

/// A run of the new version, and the possible runs of the old one after the same calls.
struct Node {
    new: u32,
    old: Beside,
    from: u32,
    act: Act,
    times: u64,
}

/// The first call that all possible runs of the old version refuse.
struct First {
    node: usize,
    act: Act,
    /// How often the call was repeated before.
    before: u64,
    what: String,
    /// The possible states of the old version.
    states: BTreeSet<String>,
}

struct Search<'a> {
    versions: &'a mut [Version; 2],
    max: usize,
    /// The number of steps of the old version that were checked.
    steps: usize,
    bound: Option<String>,
    keys: Set<(u32, usize)>,
    /// The commands that count alike in both versions.
    alike: Alike,
    /// The pairs again, each representing all that only exchange such commands.
    forms: Set<Box<[u32]>>,
    nodes: Vec<Node>,
    waiting: VecDeque<usize>,
    /// Lists of runs of the old version, closed under events.
    beside: Set<Vec<u32>>,
    /// The same lists when used-up limits do not count.
    plain: Set<Vec<u32>>,
    /// The calls worth trying, by the state of the new version and those of the old one.
    tries: Map<(Standing, Vec<Standing>), Rc<[Usable]>>,
    first: Option<First>,
}

/// The results, without the versions.
struct Searched {
    bound: Option<String>,
    nodes: Vec<Node>,
    first: Option<First>,
}

impl Search<'_> {
    fn of(versions: &mut [Version; 2], max: usize) -> Searched {
        let news = starts(&versions[0].side.model);
        let olds = starts(&versions[1].side.model);
        let mut search = Search {
            alike: Alike::of([&versions[0].side, &versions[1].side]),
            forms: Set::default(),
            versions,
            max,
            steps: 0,
            bound: None,
            keys: Set::default(),
            nodes: Vec::new(),
            waiting: VecDeque::new(),
            beside: Set::default(),
            plain: Set::default(),
            tries: Map::default(),
            first: None,
        };
        for one in news {
            let with_same_data = olds.iter().filter(|old| old.act == one.act);
            let runs = with_same_data.map(|old| search.versions[1].add(old.run.clone()));
            let runs = runs.collect();
            let old = search.closed(runs);
            let new = search.versions[0].add(one.run);
            search.enter(new, old, u32::MAX, one.act, 1);
        }
        while search.first.is_none()
            && let Some(number) = search.waiting.pop_front()
        {
            if search.steps > STEPS_MAX {
                search.bound = Some(format!(
                    "bound: more than {STEPS_MAX} steps of one version beside those of the other"
                ));
                break;
            }
            search.expand(number);
        }
        Searched {
            bound: search.bound,
            nodes: search.nodes,
            first: search.first,
        }
    }

    fn enter(&mut self, new: u32, old: Beside, from: u32, act: Act, times: u64) {
        let key = (self.versions[0].plain(new), old.plain);
        if self.keys.contains(&key) {
            return;
        }
        if self.keys.len() >= self.max {
            self.bound = Some(format!("bound: more than {} pairs of states", self.max));
            return;
        }
        self.keys.insert(key);
        let form = self.alike.form(self.versions, new, self.old_runs(old));
        if form.is_some_and(|form| !self.forms.insert(form)) {
            return;
        }
        self.waiting.push_back(self.nodes.len());
        self.nodes.push(Node {
            new,
            old,
            from,
            act,
            times,
        });
    }

    /// Adds everything that the old version reaches by events, and stores the result once.
    ///
    /// What was used up of limits that are not reached does not tell pairs apart. A pair keeps the runs that resulted from
    /// its own calls, so that what it shows to be refused is refused after them.
    fn closed(&mut self, runs: Vec<u32>) -> Beside {
        let runs = self.reached(runs, false);
        let plain = runs.iter().map(|run| self.versions[1].plain(*run));
        let mut plain: Vec<u32> = plain.collect();
        plain.sort_unstable();
        plain.dedup();
        Beside {
            runs: self.beside.insert_full(runs).0,
            plain: self.plain.insert_full(plain).0,
        }
    }

    /// Adds everything that the old version reaches by events.
    ///
    /// With `counts`, used-up limits tell runs apart; without, a run is left out if a similar one has not used
    /// up more, because that one permits everything that it would.
    fn reached(&mut self, runs: Vec<u32>, counts: bool) -> Vec<u32> {
        let old = &mut self.versions[1];
        let mut all: Map<u32, Vec<u32>> = Map::default();
        let mut waiting: VecDeque<u32> = runs.into();
        let mut known = 0;
        while let Some(run) = waiting.pop_front() {
            let alike = all.entry(old.plain(run)).or_default();
            let is_known = |other: &u32| *other == run || !counts && old.uses_no_more(*other, run);
            if alike.iter().any(is_known) {
                continue;
            }
            if !counts {
                alike.retain(|other| !old.uses_no_more(run, *other));
            }
            alike.push(run);
            known += 1;
            self.steps += 1;
            if known > BESIDE_MAX {
                self.bound = Some(format!(
                    "bound: after the same calls, one version may be in more than {BESIDE_MAX} states"
                ));
                break;
            }
            waiting.extend(old.events(run).iter().map(|(to, _)| *to));
        }
        all.into_values().flatten().collect()
    }

    fn old_runs(&self, old: Beside) -> &[u32] {
        let found = self.beside.get_index(old.runs);
        found.map_or(&[], Vec::as_slice)
    }

    fn expand(&mut self, number: usize) {
        let Some(node) = self.nodes.get(number) else {
            return;
        };
        let (new, old) = (node.new, node.old);
        if !self.versions[0].is_open(new) {
            // After its end nothing is judged, so that the end itself is what is permitted.
            let beside = self.old_runs(old);
            if beside.iter().all(|run| self.versions[1].is_open(*run)) {
                self.first = Some(First {
                    node: number,
                    act: Act::Start(0),
                    before: 0,
                    what: "the end of the run".to_owned(),
                    states: states(&self.versions[1], beside),
                });
            }
            return;
        }
        for (to, act) in self.versions[0].events(new).iter() {
            self.enter(*to, old, short(number), act.clone(), 1);
        }
        for (index, leaf) in self.versions[0].leaves(new).iter().enumerate() {
            if leaf.asks {
                self.answers(number, (new, old), index);
            } else {
                self.calls(number, (new, old), (index, leaf));
            }
        }
    }

    /// Lets a person answer; the old version is answered, too, if it asks or did not ask.
    fn answers(&mut self, number: usize, (new, old): (u32, Beside), leaf: usize) {
        let data = self.versions[0].side.model.cells.data.len();
        let all = (0..data).map(Try::Yes).chain([Try::No]);
        for what in all {
            let Some((to, act)) = self.versions[0].answer(new, leaf, &what) else {
                continue;
            };
            let beside = self.old_runs(old).to_vec();
            let mut runs = beside.clone();
            for run in beside {
                for (index, leaf) in self.versions[1].leaves(run).iter().enumerate() {
                    if leaf.asks {
                        let answered = self.versions[1].answer(run, index, &what);
                        runs.extend(answered.map(|(to, _)| to));
                    }
                }
            }
            let after = self.closed(runs);
            self.enter(to, after, short(number), act, 1);
        }
    }
}

/// Returns the states of some runs of a version.
fn states(version: &Version, runs: &[u32]) -> BTreeSet<String> {
    let of_run = |run: &u32| {
        let leaves = version.leaves(*run);
        let names = leaves.iter().map(|leaf| leaf.standing.1.to_string());
        names.collect::<Vec<_>>()
    };
    runs.iter().flat_map(of_run).collect()
}

/// Takes every event that a version takes without a person, and the requests that it opens.
fn events(side: &Side, run: &Run) -> Vec<Done> {
    let mut all = Vec::new();
    if run.phase != Phase::Open {
        return all;
    }
    for path in leaves(run) {
        let Some(leaf) = standing(run, &path).filter(|leaf| !leaf.asks) else {
            continue;
        };
        let Some(state) = side.model.state(leaf.standing.0.as_ref(), &leaf.standing.1) else {
            continue;
        };
        for event in events_of(state) {
            for data in 0..side.model.cells.data.len() {
                let tried = attempt(&side.model, run, &leaf, &Try::Event(event.clone(), data));
                let asks = tried.done.as_ref().is_some_and(|done| asks_at(done, &leaf));
                all.extend(tried.done);
                // The question to a person is the same whatever the data are, until it is answered.
                if tried.stop || asks && data > 0 {
                    break;
                }
            }
        }
    }
    all
}
