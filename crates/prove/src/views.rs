//! What guards and properties say of a state of the graph, asked of the engine once for all states that it looks alike in.

use interlock_core::{
    holds::{Scope, unmet},
    names::FramePath,
    run::{Frame, Phase, Run},
};

use crate::{
    atlas::{Atlas, State},
    facts::{leaves, stands_at, stands_below},
    hash::{Map, Set, number, short},
    model::Model,
};

/// Which guards hold, by frame.
#[derive(Debug, Default)]
pub(crate) struct Truths {
    known: Map<Box<[u32]>, u32>,
    all: Set<Vec<bool>>,
}

impl Truths {
    /// Returns for each frame of a state which guards hold; `None` if that is not known and there is no run to evaluate.
    pub(crate) fn of(
        &mut self,
        model: &Model,
        atlas: &Atlas,
        state: &State,
        salt: Option<u32>,
        run: Option<&Run>,
    ) -> Option<Vec<Vec<u32>>> {
        let outer = atlas.rest(state.rest).and_then(|rest| rest.frame);
        let mut frames: Vec<(u32, u32)> = outer.into_iter().collect();
        let infos = || state.parts.iter().filter_map(|part| atlas.part(*part));
        frames.extend(infos().flat_map(|info| &info.frames));
        let count = frames.len();
        let one = |(index, frame): (usize, &(u32, u32))| {
            self.frame(model, atlas, state, (*frame, index, count), salt, run)
        };
        let all: Vec<u32> = frames.iter().enumerate().map(one).collect::<Option<_>>()?;
        let (shared, mut rest) = all.split_at(usize::from(outer.is_some()));
        let own = infos().map(|info| {
            let (own, others) = rest.split_at(info.frames.len().min(rest.len()));
            rest = others;
            shared.iter().chain(own).copied().collect()
        });
        Some(own.collect())
    }

    fn frame(
        &mut self,
        model: &Model,
        atlas: &Atlas,
        state: &State,
        ((asked, context), index, count): ((u32, u32), usize, usize),
        salt: Option<u32>,
        run: Option<&Run>,
    ) -> Option<u32> {
        let (standing, questions) = atlas.questions(asked)?;
        if questions.guards.is_empty() {
            return Some(0);
        }
        let mut key = vec![asked, context];
        for read in &questions.keys {
            let word = state.words.get(*read).map_or("", |word| atlas.word(*word));
            key.push(project(model, *read, word, (index, count)));
        }
        // Without a table each question is asked anew.
        key.extend(salt.into_iter().chain(salt.map(|_| short(index))));
        if let Some(known) = self.known.get(key.as_slice()) {
            return Some(*known);
        }
        let run = run?;
        let frame = *frames(run).get(index)?;
        let machine = model.machine.called(standing.0.as_ref())?;
        let scope = Scope {
            machine,
            run,
            frame,
        };
        let holds = |guards: &Vec<_>| unmet(scope, guards).is_empty();
        let said = questions.guards.iter().map(holds).collect();
        let number = 1 + number(&mut self.all, said);
        self.known.insert(key.into_boxed_slice(), number);
        Some(number)
    }
}

/// Takes out of a word what guards of one frame ask.
fn project(model: &Model, key: usize, word: &str, (index, count): (usize, usize)) -> u32 {
    let mut found = 1;
    let asked = model.evidence.values().nth(key);
    let mut at = 0;
    for (_, since) in asked.into_iter().flatten() {
        let (own, length) = match since {
            interlock_core::guard::Since::StateEntry => (at + index, count),
            _ => (at, 1),
        };
        found = found << 1 | u32::from(word.as_bytes().get(own) == Some(&b'1'));
        at += length;
    }
    found
}

/// Returns every frame, outermost first.
fn frames(run: &Run) -> Vec<&Frame> {
    fn collect<'r>(frame: &'r Frame, found: &mut Vec<&'r Frame>) {
        found.push(frame);
        for region in &frame.regions {
            collect(&region.frame, found);
        }
    }
    let mut found = Vec::new();
    collect(&run.root, &mut found);
    found
}

/// What properties about where a run stands say of one part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct View {
    /// For each predicate whether it holds at one of its leaves.
    pub(crate) stands: Vec<bool>,
    /// For each leaf and each of the predicates of pairs whether it holds of that branch by itself.
    pub(crate) below: Vec<Vec<bool>>,
}

impl View {
    /// Looks at the leaves of one part of a run.
    pub(crate) fn of(model: &Model, pairs: &[(usize, usize)], run: &Run, part: usize) -> Self {
        let all = leaves(run);
        let name = run
            .root
            .regions
            .get(part)
            .map(|region| region.name.as_str());
        let is_own = |path: &&FramePath| {
            run.phase != Phase::Open || path.names().first().map(String::as_str) == name
        };
        let own: Vec<_> = all.iter().filter(is_own).collect();
        let stands = model
            .at_states()
            .map(|slot| {
                slot.is_some_and(|slot| own.iter().any(|path| stands_at(model, slot, run, path)))
            })
            .collect();
        let holds = |slot: usize, path: &FramePath| {
            model
                .slots
                .get(slot)
                .is_some_and(|what| stands_below(model, what, run, path, &all))
        };
        let below = |path: &&FramePath| {
            pairs
                .iter()
                .flat_map(|(one, other)| [holds(*one, path), holds(*other, path)])
                .collect()
        };
        Self {
            stands,
            below: own.iter().map(below).collect(),
        }
    }
}

/// Returns which of the pairs hold in two branches.
pub(crate) fn pairs_of(pairs: &[(usize, usize)], below: &[&Vec<bool>]) -> Vec<(usize, usize)> {
    let is = |leaf: &Vec<bool>, slot: usize| leaf.get(slot) == Some(&true);
    let together = |index: &usize| {
        below.iter().enumerate().any(|(at, first)| {
            is(first, 2 * index)
                && below
                    .iter()
                    .enumerate()
                    .any(|(other, second)| other != at && is(second, 2 * index + 1))
        })
    };
    (0..pairs.len())
        .filter(together)
        .filter_map(|index| pairs.get(index).copied())
        .collect()
}

/// Returns which of the pairs hold in two branches of a run.
pub(crate) fn together(model: &Model, pairs: &[(usize, usize)], run: &Run) -> Vec<(usize, usize)> {
    let regions = run.root.regions.len().max(1);
    let views: Vec<View> = (0..regions)
        .map(|part| View::of(model, pairs, run, part))
        .collect();
    let below: Vec<&Vec<bool>> = views.iter().flat_map(|view| &view.below).collect();
    pairs_of(pairs, &below)
}
