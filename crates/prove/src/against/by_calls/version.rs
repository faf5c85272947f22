//! A version of the workflow with its runs: each is stored once, with its results.

use std::{rc::Rc, sync::Arc};

use interlock_core::run::{Phase, Run};
use serde_json::Value;

use super::events;
use crate::{
    against::{Side, rest, standing},
    atlas::Leaf,
    calls::{End, Usable},
    classes::judged,
    facts::leaves,
    hash::{Map, Set, at, number, short},
    model::Standing,
    moves::{Act, Try, attempt, call, call_act},
    perform::counts,
};

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Called {
    /// The run after it.
    pub(super) to: u32,
    /// Whether it used up a call of its state.
    pub(super) counts: bool,
}

/// The run after an answer, and what was done; `None` if nobody can answer so.
type Answered = Option<(u32, Act)>;

/// A run, and what is known about it.
#[derive(Debug)]
struct Known {
    run: Run,
    /// Its number when used-up limits do not count.
    plain: u32,
    /// What was seen of each key of evidence.
    words: Box<[u32]>,
    /// Everything else that tells it from others, except what was used up.
    rest: Box<[u32]>,
    /// What its parts have used up, by the numbers of the atlas.
    used: Box<[u32]>,
    leaves: Rc<[Leaf]>,
    events: Option<Rc<[(u32, Act)]>>,
}

/// A version, and the runs of it that were reached.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) side: Side,
    /// By everything that rules read of a run, and the used-up limits.
    runs: Map<Box<[u32]>, Known>,
    plain: Set<Box<[u32]>>,
    ends: Set<End>,
    /// The results of calls, by the run, the leaf, the class and the end.
    called: Map<[u32; 4], Option<Called>>,
    /// The results of answers, by the run, the leaf and the data; a no has no data.
    answered: Map<(u32, u32, Option<usize>), Answered>,
    usable: Map<Standing, Arc<[Option<Usable>]>>,
    rules: Map<Standing, Arc<Value>>,
}

impl Version {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            runs: Map::default(),
            plain: Set::default(),
            ends: Set::default(),
            called: Map::default(),
            answered: Map::default(),
            usable: Map::default(),
            rules: Map::default(),
        }
    }

    /// Numbers a run; runs that rules treat alike and that have used up the same get the same number.
    pub(super) fn add(&mut self, run: Run) -> u32 {
        let mut state = self.side.atlas.state(&self.side.model, &run);
        let plain = state.packed();
        let mut key = plain.to_vec();
        key.extend(&state.used);
        let key = key.into_boxed_slice();
        if let Some(known) = self.runs.get_index_of(&key) {
            return short(known);
        }
        let plain = number(&mut self.plain, plain);
        let leaves = leaves(&run).into_iter();
        let leaves = leaves.filter_map(|path| standing(&run, &path)).collect();
        let words = std::mem::take(&mut state.words).into_boxed_slice();
        let known = Known {
            run,
            plain,
            words,
            rest: state.packed(),
            used: state.used.into(),
            leaves,
            events: None,
        };
        short(self.runs.insert_full(key, known).0)
    }

    fn known(&self, run: u32) -> Option<&Known> {
        self.runs.get_index(at(run)).map(|(_, known)| known)
    }

    pub(super) fn run(&self, run: u32) -> Option<&Run> {
        self.known(run).map(|known| &known.run)
    }

    pub(super) fn is_open(&self, run: u32) -> bool {
        self.run(run).is_some_and(|run| run.phase == Phase::Open)
    }

    /// Returns its number when used-up limits do not count.
    pub(super) fn plain(&self, run: u32) -> u32 {
        self.known(run).map_or(u32::MAX, |known| known.plain)
    }

    /// Returns what was seen of each key of evidence, and what else tells the run from others.
    pub(super) fn parts(&self, run: u32) -> (&[u32], &[u32]) {
        let known = self.known(run);
        known.map_or((&[], &[]), |known| (&known.words, &known.rest))
    }

    /// Returns whether a run that differs from another only by its limits has not used up more of any of them.
    pub(super) fn uses_no_more(&self, run: u32, other: u32) -> bool {
        let (Some(run), Some(other)) = (self.known(run), self.known(other)) else {
            return false;
        };
        let atlas = &self.side.atlas;
        let pairs = run.used.iter().zip(&other.used);
        let mut pairs = pairs.map(|(one, two)| (atlas.used(*one), atlas.used(*two)));
        pairs.all(|(one, two)| {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one <= two)
        })
    }

    /// Returns the leaves of a run.
    pub(super) fn leaves(&self, run: u32) -> Rc<[Leaf]> {
        let known = self.known(run);
        known.map_or_else(Rc::default, |known| Rc::clone(&known.leaves))
    }

    /// Takes every event that a run takes without a person, and the requests that it opens.
    pub(super) fn events(&mut self, run: u32) -> Rc<[(u32, Act)]> {
        let Some(known) = self.known(run) else {
            return Rc::default();
        };
        if let Some(events) = &known.events {
            return Rc::clone(events);
        }
        let done = events(&self.side, &known.run).into_iter();
        let made: Rc<[(u32, Act)]> = done.map(|done| (self.add(done.run), done.act)).collect();
        if let Some((_, known)) = self.runs.get_index_mut(at(run)) {
            known.events = Some(Rc::clone(&made));
        }
        made
    }

    /// Lets a person answer the request at a leaf.
    pub(super) fn answer(&mut self, run: u32, leaf: usize, what: &Try) -> Answered {
        let data = match what {
            Try::Yes(data) => Some(*data),
            _ => None,
        };
        let key = (run, short(leaf), data);
        if let Some(known) = self.answered.get(&key) {
            return known.clone();
        }
        let known = self.known(run)?;
        let done = attempt(&self.side.model, &known.run, known.leaves.get(leaf)?, what);
        let made = done.done.map(|done| (self.add(done.run), done.act));
        self.answered.insert(key, made.clone());
        made
    }

    /// Lets a call run and end at a leaf; `None` if it may not run there.
    pub(super) fn call(
        &mut self,
        run: u32,
        leaf: usize,
        usable: &Usable,
        end: &End,
    ) -> Option<Called> {
        let ends = match self.ends.get_index_of(end) {
            Some(known) => short(known),
            None => number(&mut self.ends, end.clone()),
        };
        let key = [run, short(leaf), short(usable.class), ends];
        if let Some(known) = self.called.get(&key) {
            return *known;
        }
        let known = self.known(run)?;
        let path = &known.leaves.get(leaf)?.path;
        let act = call_act(path, usable, end.clone());
        let done = call(&self.side.model, &known.run, path, act);
        let counts = done
            .as_ref()
            .is_some_and(|done| counts(&known.run, done, path));
        let made = done.map(|done| Called {
            to: self.add(done.run),
            counts,
        });
        self.called.insert(key, made);
        made
    }

    /// Returns how many calls are left at a leaf; `None` if there is no limit.
    pub(super) fn limit(&self, run: u32, leaf: &Leaf) -> Option<u64> {
        self.side.calls_left(self.run(run)?, leaf)
    }

    /// Returns the rules of a state that are not compared.
    pub(super) fn rules(&mut self, place: &Standing) -> Arc<Value> {
        if let Some(known) = self.rules.get(place) {
            return Arc::clone(known);
        }
        let state = self.side.model.state(place.0.as_ref(), &place.1);
        let made = Arc::new(state.map_or(Value::Null, rest));
        self.rules.insert(place.clone(), Arc::clone(&made));
        made
    }

    /// Judges every call in a state, in the order of the classes.
    pub(super) fn usable(&mut self, place: &Standing) -> Arc<[Option<Usable>]> {
        if let Some(known) = self.usable.get(place) {
            return Arc::clone(known);
        }
        let made: Arc<[Option<Usable>]> = judged(&self.side.model, place).into();
        self.usable.insert(place.clone(), Arc::clone(&made));
        made
    }
}
