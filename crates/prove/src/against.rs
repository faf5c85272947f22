//! Two versions of a workflow, run in lockstep: what the new one permits and the old one refuses.
//!
//! Whatever is done is done in both, by the engine itself, until one of them refuses it.

mod by_calls;

use std::collections::{BTreeSet, VecDeque};

use interlock_core::{
    machine::{Machine, Object, State as WrittenState},
    names::FramePath,
    run::{Phase, Run},
};
use interlock_formats::Lines;
use serde_json::Value;

use crate::{
    atlas::{Atlas, Leaf, State},
    calls::{End, Usable},
    classes::judged,
    doubts,
    facts::leaves,
    hash::{Map, Set, at, short},
    key::{move_seen, order_alike},
    machine::unsupported,
    model::{Model, Standing},
    moves::{Act, Done, OTHER_EVENT, Tried, Try, attempt, call, call_act, starts},
    perform::{counts, repeated},
    replay::{Player, TraceStep, written},
};

/// What was found of two versions.
#[derive(Debug)]
pub struct Comparison {
    /// The first thing that the new one permits and the old one refuses.
    pub permitted: Option<Permission>,
    /// What the old one permits and the new one refuses, once for each state.
    pub removed: Vec<String>,
    /// Why more may be permitted than was found; `None`: nothing more is.
    pub doubt: Option<String>,
    /// Pairs of states that were looked at.
    pub pairs: usize,
}

/// Something newly permitted, with a shortest run that shows it.
#[derive(Debug)]
pub struct Permission {
    /// What, in one sentence.
    pub what: String,
    /// What the run is started with.
    pub input: Object,
    /// The steps; the old version refuses the last one.
    pub trace: Vec<TraceStep>,
    /// What the old version says to it.
    pub refusal: String,
}

/// Limits up to this one are counted call by call.
const COUNTED_TO: u64 = 4;

/// What the same thing is in both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// What is written: events, calls and the answers of people.
    Steps,
    /// Calls and the answers of people alone: states and events may have other names, and be more or fewer.
    Calls,
}

/// Compares `new` with `old`, over at most `max` pairs of states.
#[must_use]
pub fn compare(
    new: &Machine,
    old: &Machine,
    by: By,
    max: usize,
    lines: Option<&Lines>,
) -> Comparison {
    let mut found = Comparison {
        permitted: None,
        removed: Vec::new(),
        doubt: None,
        pairs: 0,
    };
    let unread = [("new", new), ("old", old)]
        .into_iter()
        .find_map(|(which, machine)| {
            Some(format!("of the {which} version: {}", unsupported(machine)?))
        });
    if unread.is_some() {
        found.doubt = unread;
        return found;
    }
    let sides = [
        Side::new(Model::beside(new, &[new, old], Vec::new(), COUNTED_TO)),
        Side::new(Model::beside(old, &[new, old], Vec::new(), COUNTED_TO)),
    ];
    if by == By::Calls {
        return by_calls::compare(sides, max, lines);
    }
    found.doubt = doubt_of(&sides).or_else(|| other_rules(new, old));
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

/// Says why something may have been missed in one of the versions.
fn doubt_of(sides: &[Side; 2]) -> Option<String> {
    sides.iter().find_map(|side| {
        let missed = side.model.missed.first().cloned();
        missed.or_else(|| doubts::all(&side.model, &[]).first().cloned())
    })
}

/// Says which rules of a state are not compared, where the versions differ in them.
fn other_rules(new: &Machine, old: &Machine) -> Option<String> {
    let both = |new: &Machine, old: &Machine| {
        new.states.iter().find_map(|(name, state)| {
            let other = old.states.get(name)?;
            (rest(state) != rest(other)).then(|| {
                format!("`{name}` differs in limits of edits, files or the environment, which are not compared")
            })
        })
    };
    both(new, old).or_else(|| {
        new.machines
            .iter()
            .find_map(|(key, machine)| both(machine, old.machines.get(key)?))
    })
}

/// Returns the rules of a state that are not compared.
fn rest(state: &WrittenState) -> Value {
    let mut policy = serde_json::to_value(&state.policy).unwrap_or_default();
    if let Value::Object(rules) = &mut policy {
        for known in [
            "allowed_tools",
            "disallowed_tools",
            "allowed_commands",
            "iterations_max",
            "result_bytes_max",
        ] {
            rules.remove(known);
        }
    }
    policy
}

/// One of the versions.
#[derive(Debug)]
struct Side {
    model: Model,
    atlas: Atlas,
}

impl Side {
    fn new(model: Model) -> Self {
        Self {
            atlas: Atlas::new(&model),
            model,
        }
    }
}

/// A run of each version after the same steps.
#[derive(Debug)]
struct Pair {
    new: Run,
    old: Run,
    /// The pair before, and what was done there.
    from: u32,
    act: Act,
    /// Whether only the new version was told.
    alone: bool,
}

/// A call as both versions judge it.
type Judged = (Option<Usable>, Option<Usable>);
/// A key of evidence, where each version has it.
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

    /// Keeps a pair of runs that is like none before.
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

    /// Orders what was seen of commands that count alike, in both versions at once.
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
            // After its end the old version judges nothing, so nothing is permitted newly.
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
                // A run that has ended guards nothing any more.
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

    /// Does everything that may be done at one leaf, in both.
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
            state.map_or_else(Vec::new, |state| {
                let own = state.on.keys().map(ToString::to_string);
                own.chain(state.safe_next.is_some().then(|| OTHER_EVENT.to_owned()))
                    .collect()
            })
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

    /// Tries something in both; `false`: both refuse it.
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

    /// Lets a person answer; where only the new version asks, only that is told.
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

    fn calls(&mut self, number: usize, new: &Run, old: &Run, (one, other): (&Leaf, &Leaf)) {
        let place = (one.standing.clone(), other.standing.clone());
        if !self.calls.contains_key(&place) {
            let made = self.classes(&place);
            self.calls.insert(place.clone(), made);
        }
        let all: Vec<_> = self.calls.get(&place).cloned().unwrap_or_default();
        let mut repeats = None;
        let mut tried = BTreeSet::new();
        for (made, before) in &all {
            let Some(any) = made.as_ref().or(before.as_ref()) else {
                continue;
            };
            if let Some(like) = self.group(new, old, (made.as_ref(), before.as_ref()))
                && !tried.insert(like)
            {
                continue;
            }
            for end in ends(made.as_ref(), before.as_ref()) {
                let act = call_act(&one.path, any, end);
                let first = call(&self.new.model, new, &one.path, act.clone());
                let second = call(&self.old.model, old, &other.path, act.clone());
                let line = written(&self.new.model, &act);
                let shown = line.first().map_or_else(String::new, brief);
                match (first, second) {
                    (None, None) => break,
                    (Some(_), None) => {
                        let what = format!("{shown} in `{}`", one.standing.1);
                        self.difference(number, &act, what, true);
                        break;
                    }
                    (None, Some(_)) => {
                        let what = format!("{shown} in `{}`", one.standing.1);
                        self.difference(number, &act, what, false);
                        break;
                    }
                    (Some(first), Some(second)) => {
                        if repeats.is_none()
                            && self.is_idle((new, &first), (old, &second), &one.path)
                        {
                            repeats = Some((first.clone(), second.clone()));
                        }
                        self.enter(first.run, second.run, short(number), first.act, false);
                    }
                }
            }
        }
        if let Some((first, second)) = repeats {
            self.used_up(number, (new, &first), (old, &second), (one, other));
        }
    }

    /// Tells whether a call changes nothing in either but the count of calls.
    fn is_idle(
        &mut self,
        (new, first): (&Run, &Done),
        (old, second): (&Run, &Done),
        path: &FramePath,
    ) -> bool {
        let same = |side: &mut Side, before: &Run, after: &Run| {
            packed(side, before).packed() == packed(side, after).packed()
        };
        counts(new, first, path)
            && counts(old, second, path)
            && same(&mut self.new, new, &first.run)
            && same(&mut self.old, old, &second.run)
    }

    /// Repeats a call until the smaller of the two limits is used up.
    fn used_up(
        &mut self,
        number: usize,
        (new, first): (&Run, &Done),
        (old, second): (&Run, &Done),
        (one, other): (&Leaf, &Leaf),
    ) {
        let left = |side: &Side, run: &Run, leaf: &Leaf| {
            let state = side
                .model
                .state(leaf.standing.0.as_ref(), &leaf.standing.1)?;
            let calls = run.frame(&leaf.path)?.stay.used.calls;
            Some(state.policy.iterations_max?.saturating_sub(calls))
        };
        let both = [left(&self.new, new, one), left(&self.old, old, other)];
        let Some(least) = both.into_iter().flatten().min().filter(|left| *left > 1) else {
            return;
        };
        let made = repeated(first, &one.path, least);
        let before = repeated(second, &other.path, least);
        if let (Some(made), Some(before)) = (made, before) {
            self.enter(made.run, before.run, short(number), made.act, false);
        }
    }

    /// Judges every call in both states; of those alike in both, the first is kept.
    fn classes(&self, (one, other): &(Standing, Standing)) -> Vec<Judged> {
        let both = judged(&self.new.model, one)
            .into_iter()
            .zip(judged(&self.old.model, other));
        let mut seen = BTreeSet::new();
        let like = |one: &Option<Usable>| {
            one.as_ref()
                .map(|one| (one.signature.clone(), one.keys.clone(), one.asked))
        };
        both.filter(|(one, other)| {
            (one.is_some() || other.is_some()) && seen.insert((like(one), like(other)))
        })
        .collect()
    }

    /// Names what a call is of a group of commands that count alike in both.
    fn group(
        &mut self,
        new: &Run,
        old: &Run,
        calls: (Option<&Usable>, Option<&Usable>),
    ) -> Option<(usize, Vec<String>)> {
        let key = |call: Option<&Usable>| match call {
            Some(call) => match call.keys.as_slice() {
                [key] => Some(key.clone()),
                _ => None,
            },
            None => None,
        };
        let (one, other) = (key(calls.0), key(calls.1));
        let named = one.as_ref().or(other.as_ref())?;
        if one.is_some() && other.is_some() && one != other
            || calls.0.is_some() != one.is_some()
            || calls.1.is_some() != other.is_some()
        {
            return None;
        }
        let group = self.alike.iter().position(|group| group.contains(named))?;
        let signature =
            |call: Option<&Usable>| call.map_or_else(String::new, |call| call.signature.clone());
        Some((
            group,
            vec![
                crate::key::seen_word(&self.new.model, new, named),
                crate::key::seen_word(&self.old.model, old, named),
                signature(calls.0),
                signature(calls.1),
            ],
        ))
    }

    /// Plays what shows a difference in both versions.
    fn shown(
        &self,
        pair: usize,
        act: &Act,
        what: &str,
        lines: Option<&Lines>,
    ) -> Result<Permission, String> {
        let mut acts: Vec<(Act, bool)> = Vec::new();
        let mut number = short(pair);
        let mut input = Object::new();
        while let Some(one) = self.pairs.get(at(number)) {
            match &one.act {
                Act::Start(data) => {
                    input = self
                        .new
                        .model
                        .cells
                        .data
                        .get(*data)
                        .cloned()
                        .unwrap_or_default();
                }
                act => acts.push((act.clone(), one.alone)),
            }
            number = one.from;
        }
        acts.reverse();
        let mut new = Player::begin(&self.new.model, input.clone(), lines);
        let mut old = Player::begin(&self.old.model, input.clone(), None);
        for (act, alone) in &acts {
            new.step(act)?;
            if !alone {
                old.step(act)
                    .map_err(|why| format!("the old version: {why}"))?;
            }
        }
        if matches!(act, Act::Start(_)) {
            let played = new.end();
            return Ok(Permission {
                what: what.to_owned(),
                input,
                trace: played.trace,
                refusal: "the run goes on, and calls are judged".to_owned(),
            });
        }
        new.step(act)?;
        let refusal = match old.clone().step(act) {
            Err(why) => why,
            Ok(()) if asks(&new_run(&old, act)?) => "a person is asked".to_owned(),
            Ok(()) => return Err("the old version permits it, too".to_owned()),
        };
        let played = new.end();
        Ok(Permission {
            what: what.to_owned(),
            input,
            trace: played.trace,
            refusal,
        })
    }
}

/// Plays one more step, and returns the run behind it.
fn new_run(player: &Player<'_>, act: &Act) -> Result<Run, String> {
    let mut next = player.clone();
    next.step(act)?;
    Ok(next.simulation.run().clone())
}

fn packed(side: &mut Side, run: &Run) -> State {
    let mut state = side.atlas.state(&side.model, run);
    state.used.clear();
    state
}

fn asks(run: &Run) -> bool {
    let waits = |path: &FramePath| {
        run.frame(path)
            .is_some_and(|frame| frame.stay.request.is_some())
    };
    run.open_leaves().iter().any(waits)
}

fn asks_at(done: &Done, leaf: &Leaf) -> bool {
    let frame = done.run.frame(&leaf.path);
    frame.is_some_and(|frame| frame.stay.request.is_some())
}

/// Returns where a run stands at a path, if it does.
fn standing(run: &Run, path: &FramePath) -> Option<Leaf> {
    if !leaves(run).contains(path) {
        return None;
    }
    let frame = run.frame(path)?;
    Some(Leaf {
        path: path.clone(),
        standing: (frame.machine.clone(), frame.at.clone()),
        asks: frame.stay.request.is_some(),
    })
}

/// Returns every end of a call that something follows from in either version.
fn ends(one: Option<&Usable>, other: Option<&Usable>) -> Vec<End> {
    let mut all: Vec<End> = Vec::new();
    for end in one.into_iter().chain(other).flat_map(|call| &call.ends) {
        if !all.contains(end) {
            all.push(end.clone());
        }
    }
    all
}

/// Writes a call in a few words.
fn brief(line: &Value) -> String {
    let input = line.get("input");
    let of = |key: &str| input.and_then(|input| input.get(key)?.as_str());
    let tool = line.get("tool").and_then(Value::as_str).unwrap_or_default();
    match of("command").or(of("file_path")) {
        Some(text) => format!("`{tool}` with `{text}`"),
        None => format!("`{tool}`"),
    }
}
