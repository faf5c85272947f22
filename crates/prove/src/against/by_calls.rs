//! Two versions compared by their calls alone: what states and events are called does not count.
//!
//! The new version is run; beside each of its runs stands every run of the old one in which the same calls
//! ended alike and the same people said yes or no. Events are free in both: an agent takes whichever it likes.
//! The end of a run counts as a call does: behind it nothing is judged.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use interlock_core::run::{Phase, Run};
use interlock_formats::Lines;
use serde_json::Value;

use super::{Comparison, Permission, Side, asks_at, brief, doubt_of, packed, rest, standing};
use crate::{
    atlas::Leaf,
    calls::{End, Usable},
    classes::judged,
    facts::leaves,
    hash::{Map, Set, at, short},
    model::Standing,
    moves::{Act, Done, OTHER_EVENT, Try, attempt, call, call_act, starts},
    perform::counts,
    replay::{Player, written},
};

/// Runs of the old version beside one of the new one, at most.
const BESIDE_MAX: usize = 4_096;
/// A limit is used up call by call up to this many.
const CALLS_MAX: u64 = 1_000;

/// Compares `new` with `old` in both directions; only the first of the calls that were removed is named.
pub(super) fn compare(mut sides: [Side; 2], max: usize, lines: Option<&Lines>) -> Comparison {
    let mut found = Comparison {
        permitted: None,
        removed: Vec::new(),
        doubt: doubt_of(&sides),
        pairs: 0,
    };
    let forward = Search::of(&mut sides, max);
    found.pairs = forward.nodes.len();
    if let Some(first) = &forward.first {
        match forward.shown(&sides, first, lines) {
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
    sides.reverse();
    let backward = Search::of(&mut sides, max);
    found.pairs += backward.nodes.len();
    found.removed = backward.first.into_iter().map(|first| first.what).collect();
    bound = bound.or(backward.bound);
    found.doubt = bound.or(found.doubt);
    found
}

/// A run of the new version, and where the old one may be after the same calls.
struct Node {
    new: Run,
    old: usize,
    from: u32,
    act: Act,
    times: u64,
}

/// Runs of the old version, none like another, with every event taken that may be.
type Beside = Vec<Run>;

/// The first call that the old version refuses wherever it may be.
struct First {
    node: usize,
    act: Act,
    /// How often the call was repeated before.
    before: u64,
    what: String,
    /// Where the old version may be.
    states: BTreeSet<String>,
}

struct Search<'a> {
    sides: &'a mut [Side; 2],
    max: usize,
    bound: Option<String>,
    keys: Set<(Box<[u32]>, usize)>,
    nodes: Vec<Node>,
    waiting: VecDeque<usize>,
    beside: Map<Vec<Box<[u32]>>, Beside>,
    judged: [Map<Standing, Arc<[Option<Usable>]>>; 2],
    rules: [Map<Standing, Arc<Value>>; 2],
    first: Option<First>,
}

/// What was found, without the sides.
struct Searched {
    bound: Option<String>,
    nodes: Vec<Node>,
    first: Option<First>,
}

impl Search<'_> {
    fn of(sides: &mut [Side; 2], max: usize) -> Searched {
        let (news, olds) = (starts(&sides[0].model), starts(&sides[1].model));
        let mut search = Search {
            sides,
            max,
            bound: None,
            keys: Set::default(),
            nodes: Vec::new(),
            waiting: VecDeque::new(),
            beside: Map::default(),
            judged: [Map::default(), Map::default()],
            rules: [Map::default(), Map::default()],
            first: None,
        };
        for one in news {
            let with_same_data = olds.iter().filter(|old| old.act == one.act);
            let runs = with_same_data.map(|old| old.run.clone()).collect();
            let old = search.closed(runs);
            search.enter(one.run, old, u32::MAX, one.act, 1);
        }
        while search.first.is_none()
            && let Some(number) = search.waiting.pop_front()
        {
            search.expand(number);
        }
        Searched {
            bound: search.bound,
            nodes: search.nodes,
            first: search.first,
        }
    }

    fn enter(&mut self, new: Run, old: usize, from: u32, act: Act, times: u64) {
        let key = (packed(&mut self.sides[0], &new).packed(), old);
        if self.keys.contains(&key) {
            return;
        }
        if self.keys.len() >= self.max {
            self.bound = Some(format!("bound: more than {} pairs of states", self.max));
            return;
        }
        self.keys.insert(key);
        self.waiting.push_back(self.nodes.len());
        self.nodes.push(Node {
            new,
            old,
            from,
            act,
            times,
        });
    }

    /// Adds everything that the old version reaches by events, and keeps the whole once.
    ///
    /// What was used up of limits that are not reached tells no runs apart.
    fn closed(&mut self, runs: Vec<Run>) -> usize {
        let (runs, mut name) = self.reached(runs, false);
        name.sort_unstable();
        match self.beside.get_index_of(&name) {
            Some(known) => known,
            None => self.beside.insert_full(name, runs).0,
        }
    }

    /// Adds everything that the old version reaches by events; returns the runs and what tells them apart.
    fn reached(&mut self, runs: Vec<Run>, counts: bool) -> (Beside, Vec<Box<[u32]>>) {
        let mut all = Vec::new();
        let mut waiting: VecDeque<Run> = runs.into();
        let mut known: Set<Box<[u32]>> = Set::default();
        while let Some(run) = waiting.pop_front() {
            if !known.insert(self.key_of_old(&run, counts)) {
                continue;
            }
            if known.len() > BESIDE_MAX {
                self.bound = Some(format!(
                    "bound: after the same calls, one version may be in more than {BESIDE_MAX} states"
                ));
                break;
            }
            let next = events(&self.sides[1], &run);
            waiting.extend(next.into_iter().map(|done| done.run));
            all.push(run);
        }
        (all, known.into_iter().collect())
    }

    fn key_of_old(&mut self, run: &Run, counts: bool) -> Box<[u32]> {
        let side = &mut self.sides[1];
        let state = side.atlas.state(&side.model, run);
        let mut key = state.packed().to_vec();
        if counts {
            key.extend(&state.used);
        }
        key.into_boxed_slice()
    }

    fn old_runs(&self, number: usize) -> &[Run] {
        let found = self.beside.get_index(number);
        found.map_or(&[], |(_, runs)| runs.as_slice())
    }

    fn expand(&mut self, number: usize) {
        let Some(node) = self.nodes.get(number) else {
            return;
        };
        let (new, old) = (node.new.clone(), node.old);
        if new.phase != Phase::Open {
            // Behind its end nothing is judged, so that the end itself is what is permitted.
            let ends = self
                .old_runs(old)
                .iter()
                .any(|run| run.phase != Phase::Open);
            if !ends {
                self.first = Some(First {
                    node: number,
                    act: Act::Start(0),
                    before: 0,
                    what: "the end of the run".to_owned(),
                    states: states(self.old_runs(old)),
                });
            }
            return;
        }
        for done in events(&self.sides[0], &new) {
            self.enter(done.run, old, short(number), done.act, 1);
        }
        for path in leaves(&new) {
            let Some(leaf) = standing(&new, &path) else {
                continue;
            };
            if leaf.asks {
                self.answers(number, &new, old, &leaf);
            } else {
                self.calls(number, &new, old, &leaf);
            }
        }
    }

    /// Lets a person answer; the old version may be answered, too, where it asks, or was not asking.
    fn answers(&mut self, number: usize, new: &Run, old: usize, leaf: &Leaf) {
        let data = self.sides[0].model.cells.data.len();
        let all = (0..data).map(Try::Yes).chain([Try::No]);
        for what in all {
            let Some(done) = attempt(&self.sides[0].model, new, leaf, &what).done else {
                continue;
            };
            let mut runs = self.old_runs(old).to_vec();
            for run in self.old_runs(old) {
                for path in leaves(run) {
                    let asks = standing(run, &path).filter(|leaf| leaf.asks);
                    let answered =
                        asks.and_then(|leaf| attempt(&self.sides[1].model, run, &leaf, &what).done);
                    runs.extend(answered.map(|done| done.run));
                }
            }
            let after = self.closed(runs);
            self.enter(done.run, after, short(number), done.act, 1);
        }
    }

    fn calls(&mut self, number: usize, new: &Run, old: usize, leaf: &Leaf) {
        let mut seen = BTreeSet::new();
        let mut repeats = None;
        let beside = self.old_runs(old).to_vec();
        for one in self.usable(0, &leaf.standing).iter().flatten() {
            if !seen.insert(self.likeness(one, old)) {
                continue;
            }
            for end in one.ends.clone() {
                let act = call_act(&leaf.path, one, end.clone());
                let Some(done) = call(&self.sides[0].model, new, &leaf.path, act.clone()) else {
                    break;
                };
                let after = self.after(&beside, &leaf.standing, one, &end);
                if after.is_empty() {
                    self.refused(number, &beside, act, 0);
                    return;
                }
                let idle = counts(new, &done, &leaf.path)
                    && packed(&mut self.sides[0], new).packed()
                        == packed(&mut self.sides[0], &done.run).packed();
                if idle && repeats.is_none() {
                    repeats = Some((one.clone(), end.clone()));
                }
                let after = self.closed(after);
                self.enter(done.run, after, short(number), done.act, 1);
            }
        }
        if let Some((one, end)) = repeats {
            self.used_up(number, new, old, leaf, (&one, &end));
        }
    }

    /// Repeats a call that changes nothing until a limit of either version is used up.
    fn used_up(
        &mut self,
        number: usize,
        new: &Run,
        old: usize,
        leaf: &Leaf,
        (one, end): (&Usable, &End),
    ) {
        let own = limit(&self.sides[0], new, leaf);
        let others = self.old_runs(old).iter().flat_map(|run| {
            let places = leaves(run)
                .into_iter()
                .filter_map(|path| standing(run, &path));
            places.filter_map(|leaf| limit(&self.sides[1], run, &leaf))
        });
        let Some(times) = own.or_else(|| others.max().map(|most| most.saturating_add(1))) else {
            return;
        };
        if times > CALLS_MAX {
            self.bound = Some(format!("bound: limits above {CALLS_MAX} calls"));
            return;
        }
        let (mut run, mut beside) = (new.clone(), self.old_runs(old).to_vec());
        let mut keys = Vec::new();
        let act = call_act(&leaf.path, one, end.clone());
        for before in 0..times {
            let Some(done) = call(&self.sides[0].model, &run, &leaf.path, act.clone()) else {
                break;
            };
            let after = self.after(&beside, &leaf.standing, one, end);
            if after.is_empty() {
                self.refused(number, &beside, act, before);
                return;
            }
            run = done.run;
            let (next, known) = self.reached(after, true);
            // Where the old version loses nothing any more, the new one uses up nothing either.
            if own.is_none() && known == keys {
                return;
            }
            (beside, keys) = (next, known);
        }
        let beside = self.closed(beside);
        self.enter(run, beside, short(number), act, times);
    }

    fn refused(&mut self, node: usize, beside: &[Run], act: Act, before: u64) {
        let line = written(&self.sides[0].model, &act);
        self.first = Some(First {
            node,
            what: line.first().map_or_else(String::new, brief),
            act,
            before,
            states: states(beside),
        });
    }

    /// Returns where the old version may be after a call; nowhere: it refuses it.
    fn after(&mut self, beside: &[Run], place: &Standing, one: &Usable, end: &End) -> Vec<Run> {
        let mut after = Vec::new();
        let (rules, mut alike) = (self.rules(0, place), false);
        for run in beside.iter().filter(|run| run.phase == Phase::Open) {
            for path in leaves(run) {
                let Some(leaf) = standing(run, &path).filter(|leaf| !leaf.asks) else {
                    continue;
                };
                let usable = self.usable(1, &leaf.standing);
                let Some(same) = usable.get(one.class).and_then(Option::as_ref) else {
                    continue;
                };
                if same.asked && !one.asked {
                    // There a person has to say yes, and here nobody is asked.
                    continue;
                }
                let act = call_act(&path, same, end.clone());
                if let Some(done) = call(&self.sides[1].model, run, &path, act) {
                    alike |= self.rules(1, &leaf.standing) == rules;
                    after.push(done.run);
                }
            }
        }
        if !alike && !after.is_empty() {
            self.bound = Some(format!(
                "`{}` differs in limits of edits, files or the environment, which are not compared",
                place.1
            ));
        }
        after
    }

    /// Names what a call is like, here and wherever the old version may be.
    fn likeness(&mut self, one: &Usable, old: usize) -> Vec<Option<(String, Vec<String>, bool)>> {
        let like = |one: &Usable| (one.signature.clone(), one.keys.clone(), one.asked);
        let mut places: Vec<Standing> = Vec::new();
        let open = |run: &&Run| run.phase == Phase::Open;
        for run in self.old_runs(old).iter().filter(open) {
            for path in leaves(run) {
                let place = standing(run, &path).map(|leaf| leaf.standing);
                places.extend(place.filter(|place| !places.contains(place)));
            }
        }
        let mut all = vec![Some(like(one))];
        for place in places {
            let usable = self.usable(1, &place);
            all.push(usable.get(one.class).and_then(Option::as_ref).map(like));
        }
        all
    }

    /// Returns the rules of a state that are not compared.
    fn rules(&mut self, side: usize, place: &Standing) -> Arc<Value> {
        let (Some(known), Some(of)) = (self.rules.get_mut(side), self.sides.get(side)) else {
            return Arc::default();
        };
        let written = || {
            let state = of.model.state(place.0.as_ref(), &place.1);
            Arc::new(state.map_or(Value::Null, rest))
        };
        Arc::clone(known.entry(place.clone()).or_insert_with(written))
    }

    /// Judges every call in a state of a version, in the order of the classes.
    fn usable(&mut self, side: usize, place: &Standing) -> Arc<[Option<Usable>]> {
        let (Some(known), Some(of)) = (self.judged.get_mut(side), self.sides.get(side)) else {
            return Arc::default();
        };
        let known = known.entry(place.clone());
        Arc::clone(known.or_insert_with(|| judged(&of.model, place).into()))
    }
}

/// Names the states in which runs are.
fn states(runs: &[Run]) -> BTreeSet<String> {
    let of_run = |run: &Run| -> Vec<String> {
        let paths = leaves(run).into_iter();
        let frames = paths.filter_map(|path| run.frame(&path).map(|frame| frame.at.to_string()));
        frames.collect()
    };
    runs.iter().flat_map(of_run).collect()
}

impl Searched {
    /// Plays what shows a difference in the new version.
    fn shown(
        &self,
        sides: &[Side; 2],
        first: &First,
        lines: Option<&Lines>,
    ) -> Result<Permission, String> {
        let mut acts: Vec<(&Act, u64)> = Vec::new();
        let mut number = short(first.node);
        let mut input = Default::default();
        while let Some(one) = self.nodes.get(at(number)) {
            match &one.act {
                Act::Start(data) => {
                    let all = &sides[0].model.cells.data;
                    input = all.get(*data).cloned().unwrap_or_default();
                }
                act => acts.push((act, one.times)),
            }
            number = one.from;
        }
        acts.reverse();
        if !matches!(first.act, Act::Start(_)) {
            acts.push((&first.act, first.before + 1));
        }
        let mut player = Player::begin(&sides[0].model, input, lines);
        for (act, times) in acts {
            player.step(&repeated(act, times))?;
        }
        let played = player.end();
        let states: Vec<String> = first
            .states
            .iter()
            .map(|state| format!("`{state}`"))
            .collect();
        let refusal = match first.act {
            Act::Start(_) => format!(
                "after the same calls it may be in {}, and no event ends the run without a person",
                states.join(", ")
            ),
            _ => format!(
                "after the same calls it may be in {}, and refuses this one in each",
                states.join(", ")
            ),
        };
        Ok(Permission {
            what: first.what.clone(),
            input: played.input,
            trace: played.trace,
            refusal,
        })
    }
}

/// Writes an act that is done several times.
fn repeated(act: &Act, times: u64) -> Act {
    let mut act = act.clone();
    if let Act::Call { times: own, .. } = &mut act {
        *own = times;
    }
    act
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
        let own = state.on.keys().map(ToString::to_string);
        let other = state.safe_next.is_some().then(|| OTHER_EVENT.to_owned());
        for event in own.chain(other) {
            for data in 0..side.model.cells.data.len() {
                let tried = attempt(&side.model, run, &leaf, &Try::Event(event.clone(), data));
                let asks = tried.done.as_ref().is_some_and(|done| asks_at(done, &leaf));
                all.extend(tried.done);
                // What a person is asked is the same whatever the data are, until it is answered.
                if tried.stop || asks && data > 0 {
                    break;
                }
            }
        }
    }
    all
}

/// Returns how many calls are left where a run stands; `None`: there is no limit.
fn limit(side: &Side, run: &Run, leaf: &Leaf) -> Option<u64> {
    let state = side
        .model
        .state(leaf.standing.0.as_ref(), &leaf.standing.1)?;
    let used = run.frame(&leaf.path)?.stay.used.calls;
    Some(state.policy.iterations_max?.saturating_sub(used))
}
