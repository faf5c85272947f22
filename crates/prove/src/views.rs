//! What guards and properties say of a state of the graph, asked of the engine once for all states that it looks alike in.

use interlock_core::{
    guard::{GuardRef, Since},
    holds::{Scope, unmet},
    names::FramePath,
    run::{Frame, Phase, Run},
};

use crate::{
    atlas::{Atlas, State},
    facts::{leaves, stands_at, stands_below},
    hash::{Map, Set, number, short},
    model::{Model, Standing},
};

/// Which guards hold, by frame.
#[derive(Debug, Default)]
pub(crate) struct Truths {
    known: Map<Box<[u32]>, u32>,
    /// The same by the words themselves, of which guards ask only a part.
    by_words: Map<Box<[u32]>, u32>,
    key: Vec<u32>,
    /// Whether the guards of one question hold, by what they read: many frames ask the same.
    single: Map<Box<[u32]>, bool>,
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
        let (_, questions) = atlas.questions(asked)?;
        if questions.guards.is_empty() {
            return Some(0);
        }
        let mut words = std::mem::take(&mut self.key);
        words.clear();
        words.extend([asked, context, short(index), short(count)]);
        let read = |key: &usize| state.words.get(*key).copied().unwrap_or_default();
        words.extend(questions.keys.iter().map(read));
        // Without a table each question is asked anew.
        words.extend(salt);
        let known = self.by_words.get(words.as_slice()).copied();
        let found = known.or_else(|| {
            let frame = ((asked, context), index, count);
            let found = self.evaluated(model, atlas, state, frame, salt, run)?;
            self.by_words.insert(words.as_slice().into(), found);
            Some(found)
        });
        self.key = words;
        found
    }

    /// Returns which guards hold in a frame, by what they ask of the words.
    fn evaluated(
        &mut self,
        model: &Model,
        atlas: &Atlas,
        state: &State,
        ((asked, context), index, count): ((u32, u32), usize, usize),
        salt: Option<u32>,
        run: Option<&Run>,
    ) -> Option<u32> {
        let (standing, questions) = atlas.questions(asked)?;
        let key = |start: &[u32], keys: &[usize]| {
            let word = |key: usize| state.words.get(key).map_or("", |word| atlas.word(*word));
            let project = |key: &usize| project(atlas.asked(*key), word(*key), (index, count));
            let mut all = start.to_vec();
            all.extend(keys.iter().map(project));
            all.extend(salt.into_iter().chain(salt.map(|_| short(index))));
            all
        };
        let whole = key(&[asked, context], &questions.keys);
        if let Some(known) = self.known.get(whole.as_slice()) {
            return Some(*known);
        }
        let mut said = Vec::with_capacity(questions.guards.len());
        for (number, question) in (0..).zip(&questions.guards) {
            // What reports say is not in what is seen of a key: then all that the frame reads must be the same.
            let keys = match model.reads_substance {
                true => &questions.keys,
                false => &question.keys,
            };
            let key = key(&[asked, number, context], keys);
            let holds = match self.single.get(key.as_slice()) {
                Some(known) => *known,
                None => {
                    let holds = is_met(model, standing, run?, index, &question.guards)?;
                    self.single.insert(key.into_boxed_slice(), holds);
                    holds
                }
            };
            said.push(holds);
        }
        let number = 1 + number(&mut self.all, said);
        self.known.insert(whole.into_boxed_slice(), number);
        Some(number)
    }
}

/// Asks the engine whether guards hold in a frame.
fn is_met(
    model: &Model,
    standing: &Standing,
    run: &Run,
    index: usize,
    guards: &[GuardRef],
) -> Option<bool> {
    let frame = *frames(run).get(index)?;
    let machine = model.machine.called(standing.0.as_ref())?;
    let scope = Scope {
        machine,
        run,
        frame,
    };
    Some(unmet(scope, guards).is_empty())
}

/// Takes out of a word what guards of one frame ask.
fn project(asked: &[Since], word: &str, (index, count): (usize, usize)) -> u32 {
    let mut found = 1;
    let mut at = 0;
    for since in asked {
        let (own, length) = match since {
            Since::StateEntry => (at + index, count),
            Since::RunStart | Since::LastEdit => (at, 1),
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
