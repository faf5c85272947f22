//! States of the graph as numbers: each part of a run is stored once, and a state refers to its parts.

use interlock_core::{
    guard::{Guard, GuardRef, Since, with_parts},
    machine::Outcome,
    names::FramePath,
    run::{Frame, Phase, Region, Run},
};
use interlock_formats::Predicate;

use crate::{
    aging::{Aging, Words},
    hash::{Map, NONE, Set, at, number, short},
    key::{Stripped, move_seen, order_alike, seen, seen_words, strip},
    model::{Model, Standing},
};

/// A run as far as rules read it, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) rest: u32,
    /// The regions of the outermost frame; that frame itself if it has none.
    pub(crate) parts: Vec<u32>,
    /// The limits that each part has used up; not part of the state.
    pub(crate) used: Vec<u32>,
    /// What was seen of each key of evidence.
    pub(crate) words: Vec<u32>,
}

impl State {
    /// Encodes it as the numbers that tell it from every other state.
    pub(crate) fn packed(&self) -> Box<[u32]> {
        let mut all = Vec::with_capacity(2 + self.parts.len() + self.words.len());
        self.pack(&mut all);
        all.into_boxed_slice()
    }

    /// Encodes it into a buffer, in place of what is there.
    pub(crate) fn pack(&self, all: &mut Vec<u32>) {
        all.clear();
        all.push(self.rest);
        all.push(short(self.parts.len()));
        all.extend(&self.parts);
        all.extend(&self.words);
    }

    /// Decodes it, in place of what is there.
    pub(crate) fn unpack(&mut self, packed: &[u32], used: &[u32]) {
        let parts = Self::parts_of(packed);
        self.rest = packed.first().copied().unwrap_or_default();
        copy(parts, &mut self.parts);
        copy(used, &mut self.used);
        let words = packed.get(Self::PARTS + parts.len()..);
        copy(words.unwrap_or_default(), &mut self.words);
    }

    /// Where in an encoded state its parts begin.
    pub(crate) const PARTS: usize = 2;

    /// Returns the parts of an encoded state.
    pub(crate) fn parts_of(packed: &[u32]) -> &[u32] {
        let parts = Self::PARTS..Self::PARTS + Self::count(packed);
        packed.get(parts).unwrap_or_default()
    }

    /// Returns where in an encoded state half of its parts are over.
    pub(crate) fn middle(packed: &[u32]) -> usize {
        Self::PARTS + Self::count(packed) / 2
    }

    fn count(packed: &[u32]) -> usize {
        at(packed.get(1).copied().unwrap_or_default())
    }
}

/// Replaces the numbers in a buffer.
pub(crate) fn copy(from: &[u32], to: &mut Vec<u32>) {
    to.clear();
    to.extend(from);
}

/// Returns the item at an index of a list, which is made long enough.
fn grown<T: Clone>(list: &mut Vec<T>, index: usize, blank: T) -> Option<&mut T> {
    if list.len() <= index {
        list.resize(index + 1, blank);
    }
    list.get_mut(index)
}

/// A leaf frame.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) path: FramePath,
    pub(crate) standing: Standing,
    /// Whether a person is asked.
    pub(crate) asks: bool,
}

/// What is known about a part.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartInfo {
    /// Its frames, outermost first: what guards ask there, and what they read of the context.
    pub(crate) frames: Vec<(u32, u32)>,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) ended: bool,
    pub(crate) asks: bool,
    /// The number of its shape: the paths of its frames, what is asked there, and which of them go on.
    pub(crate) shape: u32,
    /// Whether some open stay has used up a limit.
    pub(crate) exhausted: bool,
    /// The limits of what its open stays count.
    limits: Vec<u64>,
}

/// What is known about a run apart from its parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct RestInfo {
    pub(crate) ended: Option<Outcome>,
    pub(crate) open: bool,
    /// The outermost frame, if it is not a part.
    pub(crate) frame: Option<(u32, u32)>,
}

/// What is asked of evidence in a state of the workflow.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    pub(crate) guards: Vec<Question>,
    /// The keys of evidence that they read.
    pub(crate) keys: Vec<usize>,
}

/// Guards that are asked together, and the keys of evidence that they read.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) guards: Vec<GuardRef>,
    pub(crate) keys: Vec<usize>,
}

/// All parts that were seen.
#[derive(Debug, Default)]
pub(crate) struct Atlas {
    rests: Map<Vec<u8>, RestInfo>,
    /// The last of them, before it was text.
    last_rest: Option<(Box<Run>, u32)>,
    parts: Map<Vec<u8>, PartInfo>,
    contexts: Set<String>,
    shapes: Set<String>,
    words: Set<String>,
    used: Set<Vec<u64>>,
    questions: Map<Standing, Questions>,
    /// The number of remaining calls or files from which on no single call reaches a limit.
    margin: u64,
    /// How guards ask for each key of evidence.
    asked: Vec<Vec<Since>>,
    agings: Set<Aging>,
    /// Words after a step, by aging, key and word before it; [`NONE`]: not known yet.
    aged: Vec<Vec<Vec<u32>>>,
    pub(crate) alike: Vec<Vec<usize>>,
}

impl Atlas {
    pub(crate) fn new(model: &Model) -> Self {
        let index = |key: &String| model.evidence.keys().position(|known| known == key);
        let groups = model.alike.iter();
        let asked = model.evidence.values();
        let mut atlas = Self {
            asked: asked
                .map(|all| all.iter().map(|(_, since)| *since).collect())
                .collect(),
            margin: margin(model),
            alike: groups
                .map(|group| group.iter().filter_map(index).collect())
                .collect(),
            ..Self::default()
        };
        // What satisfies no guard is number 0.
        number(&mut atlas.words, String::new());
        atlas
    }

    /// Returns the state of a run, with what was seen there.
    pub(crate) fn state(&mut self, model: &Model, run: &Run) -> State {
        let mut stripped = strip(model, run);
        let words = std::mem::take(&mut stripped.words);
        let words = self.word_numbers(words);
        let whole = run.root.regions.is_empty();
        let mut parts = Vec::with_capacity(stripped.parts.len());
        let mut used = Vec::with_capacity(stripped.parts.len());
        for (index, part) in std::mem::take(&mut stripped.parts).into_iter().enumerate() {
            let id = match self.parts.get_index_of(&part.text) {
                Some(known) => known,
                None => {
                    let mut info = match run.root.regions.get(index) {
                        Some(region) => self.of_region(model, run, region),
                        None => self.of_root(model, run),
                    };
                    info.limits = part.limits;
                    self.parts.insert_full(part.text, info).0
                }
            };
            parts.push(short(id));
            used.push(number(&mut self.used, part.used));
        }
        State {
            rest: self.rest_number(model, run, whole, stripped),
            parts,
            used,
            words,
        }
    }

    /// Returns the number of everything but the parts of a run.
    fn rest_number(&mut self, model: &Model, run: &Run, whole: bool, stripped: Stripped) -> u32 {
        // Most runs have it in common with the one before.
        if let Some((known, number)) = &self.last_rest
            && **known == stripped.rest
        {
            return *number;
        }
        let text = stripped.rest_text();
        let rest = match self.rests.get_index_of(&text) {
            Some(known) => known,
            None => {
                let info = RestInfo {
                    ended: match &run.phase {
                        Phase::Ended { outcome, .. } => Some(*outcome),
                        _ => None,
                    },
                    open: run.phase == Phase::Open,
                    frame: (!whole).then(|| self.frame(model, &run.root)),
                };
                self.rests.insert_full(text, info).0
            }
        };
        self.last_rest = Some((Box::new(stripped.rest), short(rest)));
        short(rest)
    }

    fn word_numbers(&mut self, words: Vec<String>) -> Vec<u32> {
        let numbers = words.into_iter().map(|word| match word.is_empty() {
            true => 0,
            false => number(&mut self.words, word),
        });
        numbers.collect()
    }

    /// Normalizes what was seen of commands that count alike, and returns what was moved.
    pub(crate) fn order(&self, state: &mut State) -> Vec<(usize, usize)> {
        if self.keeps_order(&state.parts) {
            return Vec::new();
        }
        order_alike(&self.alike, &mut state.words)
    }

    /// Moves what was seen in a run whose state has these parts, as [`Self::order`] does it in the state.
    pub(crate) fn order_run(&mut self, model: &Model, parts: &[u32], run: &mut Run) {
        if self.keeps_order(parts) {
            return;
        }
        let mut words = self.word_numbers(seen_words(model, run));
        let moved = order_alike(&self.alike, &mut words);
        move_seen(model, run, &moved);
    }

    fn keeps_order(&self, parts: &[u32]) -> bool {
        let asks = |part: &u32| self.part(*part).is_some_and(|part| part.asks);
        self.alike.is_empty() || parts.iter().any(asks)
    }

    /// Returns how guards ask for a key of evidence.
    pub(crate) fn asked(&self, key: usize) -> &[Since] {
        self.asked.get(key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn rest(&self, id: u32) -> Option<&RestInfo> {
        self.rests.get_index(at(id)).map(|(_, info)| info)
    }

    pub(crate) fn part(&self, id: u32) -> Option<&PartInfo> {
        self.parts.get_index(at(id)).map(|(_, info)| info)
    }

    /// Counts the frames of a part.
    pub(crate) fn frames(&self, part: u32) -> u32 {
        self.part(part).map_or(0, |info| short(info.frames.len()))
    }

    /// Returns the effect of a step on evidence; `None` if the words do not determine it.
    pub(crate) fn words(
        &mut self,
        model: &Model,
        (before, run): (&State, &Run),
        (after, next): (&State, &Run),
    ) -> Option<Words> {
        let aging = number(&mut self.agings, Aging::between(run, next)?);
        let seen_before = seen(model, run);
        let all = seen_before.zip(seen(model, next)).zip(&after.words);
        let mut seen: Vec<Option<u32>> = all
            .map(|((before, after), word)| (before != after).then_some(*word))
            .collect();
        if seen.iter().all(Option::is_none) {
            seen.clear();
        }
        let words = Words {
            aging,
            seen: seen.into_boxed_slice(),
        };
        (self.after(&words, &before.words) == after.words).then_some(words)
    }

    /// Returns the words after a step.
    fn after(&mut self, step: &Words, before: &[u32]) -> Vec<u32> {
        let mut after = before.to_vec();
        self.age(step, &mut after);
        after
    }

    /// Changes words into those after a step.
    pub(crate) fn age(&mut self, step: &Words, words: &mut [u32]) {
        let aging = self.agings.get_index(at(step.aging));
        let keeps = aging.is_none_or(Aging::is_none);
        if keeps && step.seen.is_empty() {
            return;
        }
        for (key, word) in words.iter_mut().enumerate() {
            match step.seen.get(key).copied().flatten() {
                Some(seen) => *word = seen,
                None if keeps || *word == 0 => {}
                None => *word = self.aged(step.aging, key, *word),
            }
        }
    }

    fn aged(&mut self, aging: u32, key: usize, word: u32) -> u32 {
        let known = self.aged.get(at(aging)).and_then(|keys| keys.get(key));
        let known = known.and_then(|words| words.get(at(word)));
        if let Some(known) = known.filter(|known| **known != NONE) {
            return *known;
        }
        let asked = self.asked.get(key).map_or(&[][..], Vec::as_slice);
        let how = self.agings.get_index(at(aging));
        let aged = how.map_or_else(String::new, |how| how.of(self.word(word), asked));
        let aged = number(&mut self.words, aged);
        let keys = grown(&mut self.aged, at(aging), Vec::new());
        let words = keys.and_then(|keys| grown(keys, key, Vec::new()));
        let place = words.and_then(|words| grown(words, at(word), NONE));
        place.into_iter().for_each(|place| *place = aged);
        aged
    }

    pub(crate) fn word(&self, id: u32) -> &str {
        self.words.get_index(at(id)).map_or("", String::as_str)
    }

    pub(crate) fn used(&self, id: u32) -> &[u64] {
        self.used.get_index(at(id)).map_or(&[], Vec::as_slice)
    }

    /// Adds to `key` what is left of the limits of a part, as far as one call is affected by it.
    pub(crate) fn left(&self, part: u32, used: u32, key: &mut Vec<u32>) {
        match self.part(part) {
            Some(info) if info.leaves.len() == 1 => {
                let left = info.limits.iter().zip(self.used(used));
                key.extend(left.map(|(limit, used)| {
                    let left = limit.saturating_sub(*used).min(self.margin);
                    u32::try_from(left).unwrap_or(u32::MAX)
                }));
            }
            // Several frames count separately: what each has used stays apart.
            _ => key.extend([u32::MAX, used]),
        }
    }

    /// Adds to what a part has used.
    pub(crate) fn add_used(&mut self, used: u32, more: &[u64]) -> u32 {
        let all = self.used(used).iter().zip(more);
        let sum = all.map(|(one, more)| one.saturating_add(*more)).collect();
        number(&mut self.used, sum)
    }

    /// Returns what was used since `before`; `None` if it does not continue from there.
    pub(crate) fn used_more(&self, before: u32, after: u32) -> Option<Box<[u64]>> {
        let (before, after) = (self.used(before), self.used(after));
        let more = before.iter().zip(after);
        let more = more.map(|(before, after)| after.checked_sub(*before));
        (before.len() == after.len()).then(|| more.collect())?
    }

    pub(crate) fn questions(&self, id: u32) -> Option<(&Standing, &Questions)> {
        self.questions.get_index(at(id))
    }

    /// Writes a state as text, for a failed test.
    #[cfg(test)]
    pub(crate) fn text(&self, state: &State) -> String {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let parts = state
            .parts
            .iter()
            .filter_map(|id| self.parts.get_index(at(*id)));
        let parts: Vec<String> = parts.map(|(key, _)| text(key)).collect();
        let rest = self
            .rests
            .get_index(at(state.rest))
            .map(|(key, _)| text(key));
        let words: Vec<&str> = state.words.iter().map(|id| self.word(*id)).collect();
        format!("{} {parts:?} {words:?}", rest.unwrap_or_default())
    }

    fn of_root(&mut self, model: &Model, run: &Run) -> PartInfo {
        let open = run.phase == Phase::Open;
        let own = self.frame(model, &run.root);
        let mut info = PartInfo {
            frames: vec![own],
            shape: number(&mut self.shapes, format!("{own:?} {open}")),
            ..PartInfo::default()
        };
        if open {
            leaf(model, &run.root, &FramePath::root(), &mut info);
        }
        info
    }

    fn of_region(&mut self, model: &Model, run: &Run, region: &Region) -> PartInfo {
        let mut info = PartInfo {
            ended: region.ended.is_some(),
            ..PartInfo::default()
        };
        let open = run.phase == Phase::Open && !info.ended;
        let path = FramePath::root().child(&region.name);
        let mut shape = String::new();
        self.collect(model, &region.frame, &path, open, (&mut info, &mut shape));
        info.shape = number(&mut self.shapes, shape);
        info
    }

    fn collect(
        &mut self,
        model: &Model,
        frame: &Frame,
        path: &FramePath,
        open: bool,
        (info, shape): (&mut PartInfo, &mut String),
    ) {
        let own = self.frame(model, frame);
        info.frames.push(own);
        shape.push_str(&format!("{path} {own:?} {open}; "));
        if frame.regions.is_empty() && open {
            leaf(model, frame, path, info);
        }
        for region in &frame.regions {
            let open = open && region.ended.is_none();
            let path = path.child(&region.name);
            self.collect(model, &region.frame, &path, open, (info, shape));
        }
    }

    /// Returns what guards ask in a frame, and what they read of its context.
    fn frame(&mut self, model: &Model, frame: &Frame) -> (u32, u32) {
        let standing = (frame.machine.clone(), frame.at.clone());
        let questions = match self.questions.get_index_of(&standing) {
            Some(known) => known,
            None => {
                let asked = Questions::of(model, &standing);
                self.questions.insert_full(standing, asked).0
            }
        };
        let classes: Vec<String> = model
            .cells
            .cells
            .iter()
            .enumerate()
            .map(|(index, cell)| model.cells.class(index, frame.line.context.get(&cell.key)))
            .collect();
        let output = match model.reads_output {
            true => frame.line.output.to_string(),
            false => String::new(),
        };
        let context = number(&mut self.contexts, format!("{classes:?} {output}"));
        (short(questions), context)
    }
}

/// Returns one more than a single call of the model uses up of any limit.
fn margin(model: &Model) -> u64 {
    let usable = model.usable.values().flatten();
    let files = usable.map(|one| {
        let class = model.classes.get(one.class);
        let written = class.map_or(0, |class| class.call.facts.writes.len());
        let seen = one.ends.iter().map(|end| end.wrote.len()).max();
        written + seen.unwrap_or_default()
    });
    let most = files.max().unwrap_or_default().max(1);
    u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1)
}

fn leaf(model: &Model, frame: &Frame, path: &FramePath, info: &mut PartInfo) {
    let asks = frame.stay.request.is_some();
    info.asks |= asks;
    info.exhausted |= is_exhausted(model, frame);
    info.leaves.push(Leaf {
        path: path.clone(),
        standing: (frame.machine.clone(), frame.at.clone()),
        asks,
    });
}

fn is_exhausted(model: &Model, frame: &Frame) -> bool {
    let state = model.state(frame.machine.as_ref(), &frame.at);
    state.is_some_and(|state| {
        let used = &frame.stay.used;
        let over = |limit: Option<u64>, now: u64| limit.is_some_and(|limit| now >= limit);
        let files = u64::try_from(used.files.len()).unwrap_or(u64::MAX);
        over(state.policy.iterations_max, used.calls)
            || over(state.policy.result_bytes_max, used.bytes)
            || over(state.policy.files_max, files)
    })
}

impl Questions {
    /// Collects the guards that may be evaluated for a frame in this state and that read evidence.
    fn of(model: &Model, standing: &Standing) -> Self {
        let mut asked = Self::default();
        let Some(machine) = model.machine.called(standing.0.as_ref()) else {
            return asked;
        };
        let mut add = |guards: &[GuardRef]| {
            let parts = with_parts(&machine.guards, guards);
            let keys = parts.iter().filter_map(|guard| match guard {
                Guard::Evidence(one) => model.evidence.keys().position(|key| *key == one.of.key()),
                _ => None,
            });
            let keys: Vec<usize> = keys.collect();
            if !keys.is_empty() {
                asked.keys.extend(&keys);
                let guards = guards.to_vec();
                asked.guards.push(Question { guards, keys });
            }
        };
        if let Some(state) = machine.states.get(&standing.1) {
            for transition in state.on.values().flat_map(|rule| &rule.transitions) {
                add(&transition.guards);
            }
        }
        for atom in model.slots.iter().flat_map(Predicate::parts) {
            if let Predicate::Guard(name) = atom
                && let Some((name, _)) = machine.guards.get_key_value(name.as_str())
            {
                add(&[GuardRef::Named(name.clone())]);
            }
        }
        asked.keys.sort_unstable();
        asked.keys.dedup();
        asked
    }
}
