//! The graph of all that may happen, breadth first and always in the same order.

use std::{collections::VecDeque, rc::Rc};

use interlock_core::{
    machine::{Activity, State as WrittenState},
    run::Run,
};

use crate::{
    atlas::{Atlas, Leaf, State},
    graph::{Edge, Graph, Label, NONE},
    hash::{Map, Set, at, number, short},
    key::move_seen,
    machine::machines,
    model::Model,
    moves::{Candidate, Done, candidates, starts},
    perform::{counts, perform, stays},
    table::{Change, Kind, Slot, Step, Table},
    views::{Truths, View, pairs_of},
};

/// Whether what the engine said once is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// It is kept and used wherever it counts.
    Once,
    /// The engine is asked for each step anew.
    Always,
}

/// A state with what has been used up in it, as it was come to.
#[derive(Debug, Clone, Copy)]
struct Visit {
    node: u32,
    used: u32,
    /// The visit that it was come from, and what was done there; a start has none.
    from: u32,
    by: Move,
    /// The visit before of the same state.
    next: u32,
    /// Whether no visit permits more.
    live: bool,
}

/// What is done: the part, the number of its candidate, and how.
#[derive(Debug, Clone, Copy)]
struct Move {
    part: u32,
    candidate: u32,
    kind: Kind,
}

/// Where the search is.
#[derive(Debug)]
struct Here {
    visit: usize,
    state: State,
    /// For each part where its steps are kept, and where those are that ask no guard.
    entries: Vec<[usize; 2]>,
    candidates: Vec<Rc<Vec<Candidate>>>,
    truths: Vec<Vec<u32>>,
}

/// A step that is there.
#[derive(Debug)]
struct Found {
    to: State,
    template: u32,
    counts: bool,
    run: Option<Box<Run>>,
}

struct Explorer<'a> {
    model: &'a Model,
    pairs: &'a [(usize, usize)],
    max: usize,
    asking: Asking,
    graph: Graph,
    atlas: Atlas,
    table: Table,
    truths: Truths,
    views: Map<Box<[u32]>, u32>,
    seen: Set<View>,
    standing: Set<Vec<bool>>,
    around: Set<Box<[u32]>>,
    tries: Map<u32, Rc<Vec<Candidate>>>,
    templates: Set<Label>,
    labels: Map<(u32, u32), u32>,
    used: Set<Box<[u32]>>,
    visits: Vec<Visit>,
    runs: Map<u32, Box<Run>>,
    waiting: VecDeque<u32>,
    edges: Set<Edge>,
    /// Whether a state that goes on by itself asks for evidence: then a step may read all of it.
    reads_all: bool,
    /// Whether a property is about something that happens where a guard holds.
    guards_happen: bool,
    /// Whether a region reads where others stand.
    meets: bool,
    salt: u32,
    contradicted: bool,
}

impl Graph {
    /// Explores up to `max` states.
    pub(crate) fn explore(model: &Model, pairs: &[(usize, usize)], max: usize) -> Self {
        let (graph, contradicted) = explore(model, pairs, max, Asking::Once);
        if contradicted {
            // The table does not fit this workflow: each step is asked for by itself.
            return explore(model, pairs, max, Asking::Always).0;
        }
        graph
    }
}

/// Explores, and tells whether the table contradicted itself.
pub(crate) fn explore(
    model: &Model,
    pairs: &[(usize, usize)],
    max: usize,
    asking: Asking,
) -> (Graph, bool) {
    let states = || machines(&model.machine).flat_map(|(_, machine)| machine.states.values());
    let mut explorer = Explorer {
        model,
        pairs,
        max,
        asking,
        graph: Graph::empty(),
        atlas: Atlas::new(model),
        table: Table::default(),
        truths: Truths::default(),
        views: Map::default(),
        seen: Set::default(),
        standing: Set::default(),
        around: Set::default(),
        tries: Map::default(),
        templates: Set::default(),
        labels: Map::default(),
        used: Set::default(),
        visits: Vec::new(),
        runs: Map::default(),
        waiting: VecDeque::new(),
        edges: Set::default(),
        reads_all: crate::machine::goes_on_by_evidence(&model.machine),
        guards_happen: model.slots.iter().any(|slot| {
            let mut parts = slot.parts().into_iter();
            !slot.stands()
                && parts.any(|part| matches!(part, interlock_formats::Predicate::Guard(_)))
        }),
        meets: states().any(|state: &WrittenState| match &state.activity {
            Activity::Parallel(parallel) => parallel.meets(),
            _ => false,
        }),
        salt: 0,
        contradicted: false,
    };
    explorer.begin();
    while let Some(visit) = explorer.waiting.pop_front() {
        // A run that permits more was found meanwhile, and does all that this one can.
        if explorer
            .visits
            .get(at(visit))
            .is_some_and(|visit| visit.live)
        {
            explorer.expand(at(visit));
        }
    }
    let Explorer {
        mut graph,
        atlas,
        contradicted,
        ..
    } = explorer;
    graph.atlas = atlas.into();
    (graph, contradicted)
}

impl Explorer<'_> {
    fn begin(&mut self) {
        for done in starts(self.model) {
            let mut state = self.atlas.state(self.model, &done.run);
            let moved = self.atlas.order(&mut state);
            let template = self.template(&done);
            let mut run = Box::new(done.run);
            move_seen(self.model, &mut run, &moved);
            let origin = Move {
                part: NONE,
                candidate: NONE,
                kind: Kind::Plain,
            };
            let Some(node) = self.enter(&state, NONE, origin, Some(run)) else {
                continue;
            };
            let label = self.label(template, node);
            if !self
                .graph
                .starts
                .iter()
                .any(|(known, _)| *known == at(node))
            {
                self.graph.starts.push((at(node), at(label)));
            }
        }
    }

    /// Returns a number that is never used again, where nothing is kept.
    fn salt(&mut self) -> Option<u32> {
        self.salt += 1;
        (self.asking == Asking::Always).then_some(self.salt)
    }

    fn template(&mut self, done: &Done) -> u32 {
        number(
            &mut self.templates,
            Label {
                act: done.act.clone(),
                facts: done.facts.clone(),
                bits: done.bits.clone(),
            },
        )
    }

    /// Names what a step is with where it leads.
    fn label(&mut self, template: u32, node: u32) -> u32 {
        let stands = self
            .graph
            .nodes
            .get(at(node))
            .map_or(NONE, |node| node.stands);
        if let Some(known) = self.labels.get(&(template, stands)) {
            return *known;
        }
        let mut label = self.templates.get_index(at(template)).cloned();
        let standing = self.standing.get_index(at(stands));
        if let Some(label) = &mut label {
            for (bit, stands) in label.bits.iter_mut().zip(standing.into_iter().flatten()) {
                *bit |= *stands;
            }
        }
        let number = short(self.graph.labels.len());
        self.graph.labels.extend(label);
        self.labels.insert((template, stands), number);
        number
    }

    /// Finds the state, and keeps it to be expanded where it permits more than what is known of it.
    fn enter(&mut self, state: &State, from: u32, by: Move, run: Option<Box<Run>>) -> Option<u32> {
        let packed = state.packed();
        let known = self.graph.keys.get_index_of(&packed);
        if known.is_none() && self.graph.nodes.len() >= self.max {
            self.graph.whole = false;
            return None;
        }
        let node = match known {
            Some(known) => short(known),
            None => {
                let ended = self.atlas.rest(state.rest).and_then(|rest| rest.ended);
                let parts = state.parts.iter().filter_map(|part| self.atlas.part(*part));
                let exhausted = parts.into_iter().any(|part| part.exhausted);
                self.graph.add_node(packed, ended, exhausted)
            }
        };
        let used = number(&mut self.used, state.used.clone().into_boxed_slice());
        if let Some(visit) = self.admit(node, used, from, by) {
            if let Some(run) = run {
                self.runs.insert(visit, run);
            }
            self.waiting.push_back(visit);
            if known.is_none() {
                self.look(node, visit, state);
            }
        }
        Some(node)
    }

    /// Keeps a visit where none of its state permits all that it does; those that permit less are given up.
    fn admit(&mut self, node: u32, used: u32, from: u32, by: Move) -> Option<u32> {
        let first = self.graph.nodes.get(at(node))?.visit;
        let mut other = first;
        while let Some(visit) = self.visits.get(at(other)) {
            if visit.live && self.permits(visit.used, used) {
                return None;
            }
            other = visit.next;
        }
        other = first;
        while let Some(visit) = self.visits.get(at(other)).copied() {
            if visit.live && self.permits(used, visit.used) {
                self.visits.get_mut(at(other))?.live = false;
            }
            other = visit.next;
        }
        let number = short(self.visits.len());
        self.visits.push(Visit {
            node,
            used,
            from,
            by,
            next: first,
            live: true,
        });
        self.graph.nodes.get_mut(at(node))?.visit = number;
        Some(number)
    }

    /// Tells whether a run that has used `one` may do all that one with `other` may.
    fn permits(&self, one: u32, other: u32) -> bool {
        if one == other {
            return true;
        }
        let of = |id: u32| {
            let parts = self.used.get_index(at(id)).into_iter().flatten();
            parts.flat_map(|part| self.atlas.used(*part))
        };
        of(one).count() == of(other).count()
            && of(one).zip(of(other)).all(|(one, other)| one <= other)
    }

    /// Notes what properties about where a run stands say of a state.
    fn look(&mut self, node: u32, visit: u32, state: &State) {
        if self.pairs.is_empty() && self.model.at_states().all(|slot| slot.is_none()) {
            return;
        }
        let truths = self.truths(at(visit), state);
        let mut standing = vec![false; self.model.slots.len()];
        let mut below = Vec::new();
        let open = self.atlas.rest(state.rest).is_some_and(|rest| rest.open);
        let parts = if open { state.parts.len() } else { 1 };
        for part in 0..parts {
            let mut key = vec![self.surroundings(state, part).0];
            key.extend(state.parts.get(part));
            key.extend(truths.get(part).into_iter().flatten());
            if !open {
                key.extend(&state.parts);
                key.extend(&state.words);
            }
            key.extend(self.salt());
            let view = match self.views.get(key.as_slice()) {
                Some(known) => *known,
                None => {
                    self.materialise(at(visit));
                    let run = self.runs.get(&visit);
                    let view = run.map(|run| View::of(self.model, self.pairs, run, part));
                    let view = number(&mut self.seen, view.unwrap_or_default());
                    self.views.insert(key.into_boxed_slice(), view);
                    view
                }
            };
            if let Some(view) = self.seen.get_index(at(view)) {
                for (all, one) in standing.iter_mut().zip(&view.stands) {
                    *all |= one;
                }
                below.extend(view.below.iter().cloned());
            }
        }
        let below: Vec<&Vec<bool>> = below.iter().collect();
        let together = pairs_of(self.pairs, &below);
        let stands = number(&mut self.standing, standing);
        let together = number(&mut self.graph.together, together);
        if let Some(node) = self.graph.nodes.get_mut(at(node)) {
            (node.stands, node.together) = (stands, together);
        }
    }

    /// Tells which guards hold in each part; a run is asked only where that is not known.
    fn truths(&mut self, visit: usize, state: &State) -> Vec<Vec<u32>> {
        let salt = self.salt();
        if let Some(known) = self.truths.of(self.model, &self.atlas, state, salt, None) {
            return known;
        }
        self.materialise(visit);
        let run = self.runs.get(&short(visit)).map(Box::as_ref);
        let said = self.truths.of(self.model, &self.atlas, state, salt, run);
        said.unwrap_or_default()
    }

    /// Names what is around a part, and says whether that is told in full.
    fn surroundings(&mut self, state: &State, part: usize) -> (u32, bool) {
        let mut key = Vec::with_capacity(2 + 2 * state.parts.len());
        key.extend([state.rest, short(part)]);
        let mut full = true;
        let others = state.parts.iter().zip(&state.used).enumerate();
        for (_, (other, used)) in others.filter(|(index, _)| *index != part) {
            let info = self.atlas.part(*other);
            let told = self.meets || info.is_some_and(|info| info.ended || info.asks);
            full &= told;
            key.extend(if told { [*other, *used] } else { [NONE, NONE] });
        }
        (number(&mut self.around, key.into_boxed_slice()), full)
    }

    /// Returns what may be tried in a part.
    fn tries(&mut self, part: u32) -> Rc<Vec<Candidate>> {
        if let Some(known) = self.tries.get(&part) {
            return Rc::clone(known);
        }
        let leaves = self.atlas.part(part).map(|info| info.leaves.as_slice());
        let all = Rc::new(candidates(self.model, leaves.unwrap_or_default()));
        self.tries.insert(part, Rc::clone(&all));
        all
    }

    fn leaf(&self, part: u32, leaf: usize) -> Option<&Leaf> {
        self.atlas.part(part)?.leaves.get(leaf)
    }

    fn state_of(&self, visit: usize) -> Option<State> {
        let visit = self.visits.get(visit)?;
        let packed = self.graph.keys.get_index(at(visit.node))?;
        Some(State::unpacked(
            packed,
            self.used.get_index(at(visit.used))?,
        ))
    }

    /// Makes the run of a visit, by doing again what led to it.
    fn materialise(&mut self, visit: usize) {
        let mut missing = Vec::new();
        let mut number = short(visit);
        while !self.runs.contains_key(&number)
            && let Some(one) = self.visits.get(at(number))
        {
            missing.push((number, *one));
            number = one.from;
        }
        for (number, one) in missing.into_iter().rev() {
            let Some((state, run)) = self.state_of(at(one.from)).zip(self.runs.get(&one.from))
            else {
                return;
            };
            let done = self.done(&state, run, one.by);
            self.graph.asked += 1;
            let Some(mut done) = done.and_then(|(done, _)| done.done) else {
                return;
            };
            let mut after = self.atlas.state(self.model, &done.run);
            let moved = self.atlas.order(&mut after);
            move_seen(self.model, &mut done.run, &moved);
            self.runs.insert(number, Box::new(done.run));
        }
    }

    /// Has a candidate done by the engine.
    fn done(&self, state: &State, run: &Run, by: Move) -> Option<(crate::moves::Tried, Leaf)> {
        let part = *state.parts.get(at(by.part))?;
        let candidate = self.tries.get(&part)?.get(at(by.candidate))?;
        let leaf = self.leaf(part, candidate.leaf)?;
        let tried = perform(self.model, run, leaf, &candidate.what, by.kind);
        Some((tried, leaf.clone()))
    }

    fn expand(&mut self, visit: usize) {
        let Some(state) = self.state_of(visit) else {
            return;
        };
        if !self.atlas.rest(state.rest).is_some_and(|rest| rest.open) {
            return;
        }
        let truths = self.truths(visit, &state);
        let salt = self.salt();
        let mut here = Here {
            visit,
            entries: Vec::with_capacity(state.parts.len()),
            candidates: Vec::with_capacity(state.parts.len()),
            state,
            truths,
        };
        for part in 0..here.state.parts.len() {
            let (around, _) = self.surroundings(&here.state, part);
            let (id, used) = (
                here.state.parts.get(part).copied().unwrap_or(NONE),
                here.state.used.get(part).copied().unwrap_or(NONE),
            );
            let mut key = vec![around, id];
            key.extend(self.atlas.left(id, used));
            key.extend(salt);
            let tries = self.tries(id);
            let unasked = self.table.entry(&key, tries.len());
            key.push(NONE);
            key.extend(here.truths.get(part).into_iter().flatten());
            if self.reads_all {
                key.extend(&here.state.words);
            }
            let entry = self.table.entry(&key, tries.len());
            here.entries.push([entry, unasked]);
            here.candidates.push(tries);
        }
        self.edges.clear();
        let node = self.visits.get(visit).map_or(0, |visit| at(visit.node));
        self.edges
            .extend(self.graph.out(node).map(|(_, edge)| edge));
        let from = self.graph.steps();
        let mut done = Vec::new();
        for part in 0..here.entries.len() {
            self.plain(&here, part, &mut done);
        }
        for part in 0..here.entries.len() {
            self.used_up(&here, part, &done);
        }
        self.graph.close_span(node, from);
    }

    /// Does everything that may be done in a part.
    fn plain(&mut self, here: &Here, part: usize, done: &mut Vec<(usize, u32, bool)>) {
        let Some(all) = here.candidates.get(part).map(Rc::clone) else {
            return;
        };
        let mut over = NONE;
        let mut tried: Vec<((usize, usize, u32, u32), u32)> = Vec::new();
        for (number, candidate) in all.iter().enumerate() {
            if candidate.series == over {
                continue;
            }
            if let Some((group, key, signature)) = candidate.group {
                let word = here.state.words.get(key).copied().unwrap_or_default();
                let like = (candidate.leaf, group, word, signature);
                match tried.iter().find(|(known, _)| *known == like) {
                    Some((_, series)) if *series != candidate.series => continue,
                    Some(_) => {}
                    None => tried.push((like, candidate.series)),
                }
            }
            let by = Move {
                part: short(part),
                candidate: short(number),
                kind: Kind::Plain,
            };
            let (found, stop) = self.step(here, by);
            if stop {
                over = candidate.series;
            }
            if let Some(found) = found {
                let idle = found.counts && is_same(&found.to, &here.state);
                done.push((part, short(number), idle));
                self.arrive(here, by, found);
            }
        }
    }

    /// Uses up limits with calls that change nothing else, in one step.
    fn used_up(&mut self, here: &Here, part: usize, done: &[(usize, u32, bool)]) {
        let Some(all) = here.candidates.get(part).map(Rc::clone) else {
            return;
        };
        let id = here.state.parts.get(part).copied().unwrap_or(NONE);
        let leaves = self.atlas.part(id).map_or(0, |info| info.leaves.len());
        for leaf in 0..leaves {
            let standing = self.leaf(id, leaf).map(|leaf| leaf.standing.clone());
            let state = standing.and_then(|(machine, at)| self.model.state(machine.as_ref(), &at));
            let Some(policy) = state.map(|state| &state.policy) else {
                continue;
            };
            let own = || {
                done.iter().filter(|(of, number, _)| {
                    let candidate = all.get(at(*number));
                    *of == part && candidate.is_some_and(|one| one.leaf == leaf && one.is_call())
                })
            };
            let mut more: Vec<(u32, Kind)> = Vec::new();
            if policy
                .iterations_max
                .is_some_and(|limit| limit > self.model.counted_to)
            {
                let idle = own().find(|(_, _, idle)| *idle);
                more.extend(idle.map(|(_, number, _)| (*number, Kind::Repeated)));
            }
            if policy.result_bytes_max.is_some() {
                more.extend(own().map(|(_, number, _)| (*number, Kind::Bytes)));
            }
            if policy.files_max.is_some() {
                more.extend(own().map(|(_, number, _)| (*number, Kind::Files)));
            }
            for (candidate, kind) in more {
                let by = Move {
                    part: short(part),
                    candidate,
                    kind,
                };
                if let (Some(found), _) = self.step(here, by) {
                    self.arrive(here, by, found);
                }
            }
        }
    }

    /// Enters where a step leads, and notes the step.
    fn arrive(&mut self, here: &Here, by: Move, found: Found) {
        let Some(to) = self.enter(&found.to, short(here.visit), by, found.run) else {
            return;
        };
        let label = self.label(found.template, to);
        let edge = Edge { to, label };
        if self.edges.insert(edge) {
            self.graph.edges.push(edge);
        }
    }

    /// Finds what comes of a candidate: in the table, or from the engine.
    fn step(&mut self, here: &Here, by: Move) -> (Option<Found>, bool) {
        let entry = self.entry(here, by);
        let kept = self
            .table
            .get(entry)
            .and_then(|entry| entry.slot(by.candidate, by.kind));
        let kept = match kept {
            Some(Slot::Wide) => self.table.wide.get(wide_key(here, by).as_slice()),
            other => other,
        };
        match kept {
            Some(Slot::Nothing { stop }) => return (None, *stop),
            Some(Slot::Step(step)) => {
                if let Some(mut to) = step.apply(&mut self.atlas, &here.state, at(by.part)) {
                    let (template, counts, stop) = (step.template, step.counts, step.stop);
                    self.atlas.order(&mut to);
                    let found = Found {
                        to,
                        template,
                        counts,
                        run: None,
                    };
                    return (Some(found), stop);
                }
            }
            Some(Slot::Wide) | None => {}
        }
        self.ask(here, by, entry)
    }

    /// Finds where a step is kept: no guard is asked about a call.
    fn entry(&self, here: &Here, by: Move) -> usize {
        let [asked, unasked] = here.entries.get(at(by.part)).copied().unwrap_or_default();
        let all = here.candidates.get(at(by.part));
        let candidate = all.and_then(|all| all.get(at(by.candidate)));
        let is_call = candidate.is_some_and(Candidate::is_call);
        if is_call && !self.reads_all && !self.guards_happen {
            unasked
        } else {
            asked
        }
    }

    /// Asks the engine, and keeps what it says.
    fn ask(&mut self, here: &Here, by: Move, entry: usize) -> (Option<Found>, bool) {
        self.materialise(here.visit);
        self.graph.asked += 1;
        let run = self.runs.get(&short(here.visit));
        let Some((tried, leaf)) = run.and_then(|run| self.done(&here.state, run, by)) else {
            // INVARIANT: every visit has a run; without one nothing may be said to hold.
            self.graph.whole = false;
            return (None, false);
        };
        let stop = tried.stop;
        let Some(mut done) = tried.done else {
            if let Some(entry) = self.table.get_mut(entry) {
                entry.put(by.candidate, by.kind, Slot::Nothing { stop });
            }
            return (None, stop);
        };
        let counted = run.is_some_and(|run| counts(run, &done, &leaf.path));
        let goes_on = run.is_some_and(|run| stays(run, &done, &leaf.path));
        let template = self.template(&done);
        let mut to = self.atlas.state(self.model, &done.run);
        let (change, wide) = self.change(here, by, &to, goes_on);
        let step = Step::new(template, counted, stop, change);
        self.keep(here, by, entry, (step, wide), &to.words);
        let moved = self.atlas.order(&mut to);
        move_seen(self.model, &mut done.run, &moved);
        let found = Found {
            to,
            template,
            counts: counted,
            run: Some(Box::new(done.run)),
        };
        (Some(found), stop)
    }

    /// Says what a step changes, and whether that has to be kept for the whole state.
    fn change(&mut self, here: &Here, by: Move, to: &State, goes_on: bool) -> (Change, bool) {
        let change = Change::between(&here.state, to, at(by.part));
        let (_, full) = self.surroundings(&here.state, at(by.part));
        let before = here.state.used.get(at(by.part)).copied().unwrap_or(NONE);
        match change {
            // How often it is done depends on what is left.
            _ if by.kind != Kind::Plain => (change, true),
            Change::All { .. } => (change, goes_on || !full),
            Change::Part { part, used } if goes_on => match self.atlas.used_more(before, used) {
                Some(more) => (Change::Counted { part, more }, false),
                None => (Change::Part { part, used }, true),
            },
            other => (other, false),
        }
    }

    /// Keeps a step for all states that it is the same in.
    fn keep(
        &mut self,
        here: &Here,
        by: Move,
        entry: usize,
        (mut step, wide): (Step, bool),
        after: &[u32],
    ) {
        let before = &here.state.words;
        let known = self
            .table
            .get(entry)
            .and_then(|entry| entry.slot(by.candidate, by.kind));
        let known = match (known, wide) {
            (Some(Slot::Wide), true) => self.table.wide.get(wide_key(here, by).as_slice()),
            (Some(Slot::Wide), false) | (Some(Slot::Step(_) | Slot::Nothing { .. }), true) => {
                self.contradicted = true;
                return;
            }
            (known, _) => known,
        };
        if let Some(Slot::Step(known)) = known {
            let same = known.template == step.template
                && (known.counts, known.stop) == (step.counts, step.stop)
                && known.change == step.change;
            self.contradicted |= !same;
            step = known.clone();
        }
        self.contradicted |= !step.learn(before, after);
        let mut slot = Slot::Step(step);
        if wide {
            let key = wide_key(here, by).into_boxed_slice();
            self.table
                .wide
                .insert(key, std::mem::replace(&mut slot, Slot::Wide));
        }
        if let Some(entry) = self.table.get_mut(entry) {
            entry.put(by.candidate, by.kind, slot);
        }
    }
}

/// Writes the whole state, as far as a step reads it that changes more than its part.
fn wide_key(here: &Here, by: Move) -> Vec<u32> {
    let state = &here.state;
    let mut key = vec![
        by.part,
        by.candidate,
        by.kind as u32,
        state.rest,
        short(state.parts.len()),
    ];
    key.extend(state.parts.iter().chain(&state.used));
    key.extend(here.truths.iter().flatten());
    key.extend(here.entries.iter().flatten().map(|entry| short(*entry)));
    key
}

fn is_same(one: &State, other: &State) -> bool {
    one.rest == other.rest && one.parts == other.parts && one.words == other.words
}
