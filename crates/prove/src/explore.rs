//! Explores the graph of everything that may happen, breadth first and always in the same order.

mod again;
mod places;
mod repeat;
mod steps;
mod visits;

use std::{collections::VecDeque, rc::Rc};

use interlock_core::{
    guard::{Guard, Source},
    machine::{Activity, State as WrittenState},
    run::Run,
};

use crate::{
    atlas::{Atlas, State},
    graph::{Edge, Graph, Label},
    hash::{Map, NONE, Set, at, number, short},
    key::move_seen,
    machine::{all_guards, machines},
    model::Model,
    moves::{Candidate, Done, LastProposed, starts},
    rows::Rows,
    table::{Kind, Slot, Table},
    views::{Truths, View},
};
use again::{Expansion, Expansions, Target};
use repeat::{Current, Recorded};

/// Whether answers of the engine are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// They are stored and used wherever they apply.
    Once,
    /// The engine is asked for each step again.
    Always,
}

/// A state with what has been used up on the way to it.
#[derive(Debug, Clone, Copy)]
struct Visit {
    node: u32,
    used: u32,
    /// The previous visit, and what was done there; a start has none.
    from: u32,
    by: Move,
    /// The previous visit of the same state.
    next: u32,
    /// Whether no other visit permits more.
    live: bool,
}

/// What is done: the part, the number of its candidate, and how.
#[derive(Debug, Clone, Copy)]
struct Move {
    part: u32,
    candidate: u32,
    kind: Kind,
}

/// The current position of the search.
#[derive(Debug)]
struct Here {
    visit: usize,
    state: State,
    /// For each part, where its steps are stored, and where those are stored that ask no guard.
    entries: Vec<[usize; 2]>,
    candidates: Vec<Rc<Vec<Candidate>>>,
    truths: Vec<Vec<u32>>,
}

/// A step that was found.
#[derive(Debug)]
struct Found {
    to: State,
    template: u32,
    counts: bool,
    /// The number of its effect; `None` if the table does not have it.
    effect: Option<u32>,
    run: Option<Box<Run>>,
}

/// Where an effect leads from the state that is expanded.
#[derive(Debug, Clone, Copy)]
struct Reached {
    effect: u32,
    /// `None`: beyond the maximum number of states.
    node: Option<u32>,
    is_same: bool,
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
    /// For each template its labels, by the number of the standing predicates of the target.
    labels: Vec<Vec<(u32, u32)>>,
    used: Set<Box<[u32]>>,
    visits: Vec<Visit>,
    runs: Map<u32, Box<Run>>,
    waiting: VecDeque<u32>,
    /// The last call that was proposed: the next candidate may be another end of it.
    last: LastProposed,
    edges: Set<Edge>,
    /// Whether a state that proceeds by itself asks for evidence: then a step may read all of it.
    reads_all: bool,
    /// Whether a property is about something that happens where a guard holds.
    guards_happen: bool,
    /// Whether a property is about where a run stands.
    looks: bool,
    /// Whether guards read the context and evidence, and nothing else of a frame.
    plain_guards: bool,
    /// Whether a region reads the states of others.
    meets: bool,
    /// Whether some state has a limit that is counted by dominance, so that a state may be expanded more than once.
    limited: bool,
    /// Recorded expansions, and the numbers of the words that places refer to.
    expansions: Expansions,
    rows: Rows,
    recorded: Recorded,
    salt: u32,
    contradicted: bool,
    // Buffers.
    current: Current,
    targets: Vec<Target>,
    packed: Vec<u32>,
    to: State,
    key: Vec<u32>,
}

impl Graph {
    /// Explores up to `max` states.
    pub(crate) fn explore(model: &Model, pairs: &[(usize, usize)], max: usize) -> Self {
        let (graph, contradicted) = explore(model, pairs, max, Asking::Once);
        if contradicted {
            // The table does not suit this workflow: the engine is asked for each step.
            return explore(model, pairs, max, Asking::Always).0;
        }
        graph
    }
}

/// Explores, and returns whether the table contradicted itself.
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
        labels: Vec::new(),
        used: Set::default(),
        visits: Vec::new(),
        runs: Map::default(),
        waiting: VecDeque::new(),
        last: LastProposed::default(),
        edges: Set::default(),
        reads_all: crate::machine::goes_on_by_evidence(&model.machine),
        guards_happen: model.slots.iter().any(|slot| {
            let mut parts = slot.parts().into_iter();
            !slot.stands()
                && parts.any(|part| matches!(part, interlock_formats::Predicate::Guard(_)))
        }),
        looks: !pairs.is_empty() || model.at_states().any(|slot| slot.is_some()),
        plain_guards: !model.reads_substance
            && all_guards(&model.machine).into_iter().all(is_plain),
        meets: states().any(|state: &WrittenState| match &state.activity {
            Activity::Parallel(parallel) => parallel.meets(),
            _ => false,
        }),
        limited: states().any(|state: &WrittenState| {
            let policy = &state.policy;
            let calls = policy.iterations_max;
            calls.is_some_and(|limit| limit > model.counted_to)
                || policy.result_bytes_max.is_some()
                || policy.files_max.is_some()
        }),
        expansions: Expansions::default(),
        rows: Rows::default(),
        recorded: Recorded::default(),
        salt: 0,
        contradicted: false,
        current: Current::default(),
        targets: Vec::new(),
        packed: Vec::new(),
        to: State::default(),
        key: Vec::new(),
    };
    explorer.begin();
    while let Some(visit) = explorer.waiting.pop_front() {
        // A run that permits more was found meanwhile, and does everything that this one can.
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

    /// Returns a number that is never used again, if nothing is stored.
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

    /// Returns the label of a step with its target.
    fn label(&mut self, template: u32, node: u32) -> u32 {
        let stands = match self.looks {
            true => self
                .graph
                .nodes
                .get(at(node))
                .map_or(NONE, |node| node.stands),
            false => NONE,
        };
        let known = self.labels.get(at(template)).map_or(&[][..], Vec::as_slice);
        if let Some((_, known)) = known.iter().find(|(found, _)| *found == stands) {
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
        if self.labels.len() <= at(template) {
            self.labels.resize(at(template) + 1, Vec::new());
        }
        let known = self.labels.get_mut(at(template));
        known
            .into_iter()
            .for_each(|known| known.push((stands, number)));
        number
    }

    fn expand(&mut self, visit: usize) {
        if self.repeat(visit) {
            return;
        }
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
            let tries = self.tries(id);
            let mut key = std::mem::take(&mut self.key);
            key.clear();
            key.extend([around, id]);
            self.atlas.left(id, used, &mut key);
            key.extend(salt);
            let unasked = self.table.entry(&key, tries.len());
            key.push(NONE);
            key.extend(here.truths.get(part).into_iter().flatten());
            if self.reads_all {
                key.extend(&here.state.words);
            }
            let entry = self.table.entry(&key, tries.len());
            self.key = key;
            here.entries.push([entry, unasked]);
            here.candidates.push(tries);
        }
        self.edges.clear();
        let node = self.visits.get(visit).map_or(0, |visit| at(visit.node));
        self.edges
            .extend(self.graph.out(node).map(|(_, edge)| edge));
        let from = self.graph.steps();
        let mut done = Vec::new();
        let parts = 0..here.entries.len();
        let recorded: Vec<Option<usize>> = parts
            .map(|part| self.plain(&here, part, &mut done))
            .collect();
        self.note_recorded(&here.state, &recorded);
        for part in 0..here.entries.len() {
            self.used_up(&here, part, &done);
        }
        self.graph.close_span(node, from);
    }

    /// Does everything that may be done in a part, and returns the number of its expansion if that is recorded.
    fn plain(
        &mut self,
        here: &Here,
        part: usize,
        done: &mut Vec<(usize, u32, bool)>,
    ) -> Option<usize> {
        let all = here.candidates.get(part).map(Rc::clone)?;
        let place = self.place(here, part);
        if let Some(place) = place
            && let Some(known) = self.again(here, part, place, done)
        {
            return Some(known);
        }
        let mut recorded = place.map(|_| Expansion::default());
        let mut over = NONE;
        let mut tried: Vec<((usize, usize, u32, u32), u32)> = Vec::new();
        let mut reached: Vec<Reached> = Vec::new();
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
            // Many candidates, such as calls that only read, change the state alike.
            if recorded.is_none()
                && let Some(Slot::Step(step)) =
                    self.table.slot(self.entry(here, by), by.candidate, by.kind)
                && let Some(to) = reached.iter().find(|to| to.effect == step.effect)
            {
                if step.stop {
                    over = candidate.series;
                }
                done.push((part, short(number), step.counts && to.is_same));
                let (template, to) = (step.template, *to);
                self.connect(template, to.node);
                continue;
            }
            let (found, stop) = self.step(here, by);
            if stop {
                over = candidate.series;
            }
            if let Some(expansion) = &mut recorded
                && !self.record(expansion, here, by, found.as_ref())
            {
                recorded = None;
            }
            if let Some(found) = found {
                let is_same = is_same(&found.to, &here.state);
                done.push((part, short(number), found.counts && is_same));
                let effect = found.effect;
                let node = self.arrive(here, by, found);
                reached.extend(effect.map(|effect| Reached {
                    effect,
                    node,
                    is_same,
                }));
            }
        }
        let (place, expansion) = place.zip(recorded)?;
        let (number, _) = self.expansions.insert_full(place, Rc::new(expansion));
        Some(number)
    }

    /// Uses up limits with calls that change nothing else, in one step.
    fn used_up(&mut self, here: &Here, part: usize, done: &[(usize, u32, bool)]) {
        if !self.limited {
            return;
        }
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

    /// Enters the target of a step, and records the step.
    fn arrive(&mut self, here: &Here, by: Move, found: Found) -> Option<u32> {
        let entered = self.enter(&found.to, short(here.visit), by, found.run);
        self.to = found.to;
        self.connect(found.template, entered);
        entered
    }

    /// Records a step to a state of the graph.
    fn connect(&mut self, template: u32, to: Option<u32>) {
        let Some(to) = to else {
            return;
        };
        let label = self.label(template, to);
        let edge = Edge { to, label };
        if self.edges.insert(edge) {
            self.graph.edges.push(edge);
        }
    }
}

/// Returns whether a guard reads the context, evidence, or what other guards read.
fn is_plain(guard: &Guard) -> bool {
    match guard {
        Guard::Field(field) => field.from == Source::Context,
        Guard::All(_) | Guard::Any(_) | Guard::Not(_) | Guard::Evidence(_) => true,
        Guard::Output(_) | Guard::Code(_) | Guard::Uncancelled | Guard::Expression(_) => false,
    }
}

fn is_same(one: &State, other: &State) -> bool {
    one.rest == other.rest && one.parts == other.parts && one.words == other.words
}
