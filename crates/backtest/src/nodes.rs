//! The runs that a session may have been at, one for each state that rules can distinguish.

use std::rc::Rc;

use indexmap::{IndexSet, map::Entry};
use interlock_core::{
    machine::Machine,
    run::{Run, Used},
};
use interlock_prove::{AbstractState, Abstraction, FreeAct, Map, Set};

use crate::{
    calls::Made,
    told::{ClassAnswer, Question, Room},
};

/// Runs of one machine, by number.
#[derive(Debug)]
pub(crate) struct Nodes {
    abstraction: Abstraction,
    all: Map<AbstractState, Node>,
    /// What determines the answer to a call, without the counts of limits.
    judged: Set<Box<[u32]>>,
    /// Everything except the counts of limits and the counted files.
    places: Set<(u32, Box<[u32]>)>,
    /// Results of calls, by the node, the number of their effects and the bytes of their results.
    steps: Map<(u32, u32, u64), u32>,
    /// The first of these results at each place, by the number of the place.
    first: Map<(u32, u32, u64), Step>,
    /// The first result at each place that stays in its state, by the effects without the counted files and bytes.
    stays: Map<(u32, u32), Step>,
    /// Effects of calls without the bytes, and with the classes of counted files in place of the files.
    bases: IndexSet<Vec<u8>>,
    /// Effects of calls: the number in `bases`, and the files that each writes if files are counted.
    changes: IndexSet<(u32, Vec<String>)>,
    /// What may be done at a place without a call.
    free: Map<u32, FreeOfPlace>,
    /// Answers to calls.
    pub(crate) told: Map<Question, Rc<ClassAnswer>>,
    /// Whether some state limits the bytes of results.
    pub(crate) counts_bytes: bool,
    /// Whether a write may lead to another state.
    pub(crate) interrupts: bool,
    /// Whether the answer to a call may depend on the counts of limits, not only on whether they are used up.
    pub(crate) counts_files: bool,
}

/// A run.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) run: Run,
    /// Nodes of the same place differ only in the counts of limits.
    pub(crate) place: u32,
    /// Nodes with the same number give the same answers to calls.
    pub(crate) judged: u32,
    used: Box<[u64]>,
    files: Box<[u32]>,
    free: Option<Rc<Vec<Free>>>,
}

impl Node {
    /// Returns whether its run has ended.
    pub(crate) const fn is_over(&self) -> bool {
        self.run.is_over()
    }
}

/// What may be done at a node without a call.
#[derive(Debug)]
pub(crate) struct Free {
    pub(crate) act: Rc<FreeAct>,
    /// Its transitions: the state, the event, and the index of the branch.
    pub(crate) taken: Rc<Vec<(String, String, usize)>>,
    pub(crate) to: u32,
}

/// What may be done at the first node of a place without a call.
#[derive(Debug, Clone)]
struct FreeOfPlace {
    free: Rc<Vec<Free>>,
    /// How each of it leads to another node.
    effects: Rc<Vec<Effect>>,
}

/// A step from one node, as far as it is the same at every node of its place.
#[derive(Debug, Clone, Copy)]
struct Step {
    to: u32,
    effect: Effect,
}

impl Step {
    /// Returns the same step with another number of bytes, where it stays in its state.
    const fn with_bytes(self, bytes: u64) -> Self {
        let effect = match self.effect {
            Effect::Stays { calls, .. } => Effect::Stays { calls, bytes },
            other => other,
        };
        Self { effect, ..self }
    }
}

/// The effect of a step on what is counted.
#[derive(Debug, Clone, Copy)]
enum Effect {
    /// It enters a state, where counting begins.
    Enters,
    /// The run stays in its state, and has used so many calls and bytes more.
    Stays { calls: u64, bytes: u64 },
    /// Something else, which the engine does at each node.
    Other,
}

impl Effect {
    fn between(before: &Run, after: &Run) -> Self {
        let (one, other) = (&before.root, &after.root);
        let is_alone = |run: &Run| run.root.regions.is_empty() && run.root.machine.is_none();
        if !is_alone(before) || !is_alone(after) {
            return Self::Other;
        }
        if other.stay.entered_seq >= before.seq {
            return Self::Enters;
        }
        let (used, now) = (&one.stay.used, &other.stay.used);
        let calls = now.calls.checked_sub(used.calls);
        let bytes = now.bytes.checked_sub(used.bytes);
        match calls.zip(bytes) {
            Some((calls, bytes)) if one.stay.entered_seq == other.stay.entered_seq => {
                Self::Stays { calls, bytes }
            }
            _ => Self::Other,
        }
    }
}

impl Nodes {
    pub(crate) fn new(machine: &Machine) -> Result<Self, String> {
        let machines = std::iter::once(machine).chain(machine.machines.values());
        let interrupts = machines.clone().any(|one| !one.interrupts.is_empty());
        let states: Vec<_> = machines.flat_map(|one| one.states.values()).collect();
        let counts_bytes = states
            .iter()
            .any(|state| state.policy.result_bytes_max.is_some());
        let counts_files = states.iter().any(|state| state.policy.files_max.is_some());
        Ok(Self {
            abstraction: Abstraction::of(machine)?,
            all: Map::default(),
            judged: Set::default(),
            places: Set::default(),
            steps: Map::default(),
            first: Map::default(),
            stays: Map::default(),
            bases: IndexSet::new(),
            changes: IndexSet::new(),
            free: Map::default(),
            told: Map::default(),
            counts_bytes,
            interrupts,
            counts_files,
        })
    }

    pub(crate) const fn machine(&self) -> &Machine {
        self.abstraction.machine()
    }

    pub(crate) const fn abstraction(&self) -> &Abstraction {
        &self.abstraction
    }

    /// Returns the node at which every session begins; `None` if the workflow cannot begin.
    pub(crate) fn start(&mut self) -> Option<u32> {
        let run = self.abstraction.start()?;
        Some(self.number(run))
    }

    /// Returns the number of the node of a run.
    pub(crate) fn number(&mut self, run: Run) -> u32 {
        let named = self.abstraction.name(&run);
        self.add(named, run)
    }

    fn add(&mut self, named: AbstractState, run: Run) -> u32 {
        let judged = short(self.judged.insert_full(named.judged.clone()).0);
        let place = short(self.places.insert_full((judged, named.evidence.clone())).0);
        let (used, files) = (named.used.clone(), named.files.clone());
        match self.all.entry(named) {
            Entry::Occupied(known) => short(known.index()),
            Entry::Vacant(vacant) => {
                let number = short(vacant.index());
                vacant.insert(Node {
                    run,
                    place,
                    judged,
                    used,
                    files,
                    free: None,
                });
                number
            }
        }
    }

    /// Returns the number of nodes.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Node> {
        self.all.get_index(number as usize).map(|(_, node)| node)
    }

    /// Returns whether a node permits everything that another of the same place does, as far as limits are concerned.
    pub(crate) fn permits(&self, one: &Node, other: &Node) -> bool {
        let used = || one.used.iter().zip(&other.used);
        let mut files = one.files.iter().zip(&other.files);
        one.used.len() == other.used.len()
            && one.files.len() == other.files.len()
            && used().all(|(one, other)| one <= other)
            && files.all(|(one, other)| self.abstraction.has_no_more_files(*one, *other))
    }

    /// Lists what may be done at a node without a call.
    pub(crate) fn free(&mut self, number: u32) -> Rc<Vec<Free>> {
        let Some(node) = self.get(number) else {
            return Rc::default();
        };
        if let Some(known) = &node.free {
            return Rc::clone(known);
        }
        let place = node.place;
        let known = self.free.get(&place).cloned();
        let repeated = known.and_then(|known| self.repeat_free(number, &known));
        let free = repeated.unwrap_or_else(|| self.ask_free(number, place));
        if let Some((_, node)) = self.all.get_index_mut(number as usize) {
            node.free = Some(Rc::clone(&free));
        }
        free
    }

    /// Asks the engine what may be done at a node without a call.
    pub(crate) fn ask_free(&mut self, number: u32, place: u32) -> Rc<Vec<Free>> {
        let Some(run) = self.get(number).map(|node| node.run.clone()) else {
            return Rc::default();
        };
        let mut effects = Vec::new();
        let mut free = Vec::new();
        for one in self.abstraction.moves(&run) {
            effects.push(Effect::between(&run, &one.run));
            free.push(Free {
                act: Rc::new(one.act),
                taken: Rc::new(one.taken),
                to: self.number(one.run),
            });
        }
        let free = Rc::new(free);
        self.free.entry(place).or_insert_with(|| FreeOfPlace {
            free: Rc::clone(&free),
            effects: Rc::new(effects),
        });
        free
    }

    /// Does at a node what may be done at another of its place; `None`: only the engine can say where that leads.
    fn repeat_free(&mut self, number: u32, known: &FreeOfPlace) -> Option<Rc<Vec<Free>>> {
        let enters = |effect: &Effect| matches!(effect, Effect::Enters);
        if known.effects.iter().all(enters) {
            return Some(Rc::clone(&known.free));
        }
        let all = known.free.iter().zip(known.effects.iter());
        let free = all.map(|(free, effect)| {
            let (to, effect) = (free.to, *effect);
            Some(Free {
                act: Rc::clone(&free.act),
                taken: Rc::clone(&free.taken),
                to: self.repeat(number, Step { to, effect }, &[])?,
            })
        });
        free.collect::<Option<Vec<_>>>().map(Rc::new)
    }

    /// Returns what a call that writes finds of the files that are counted at a node.
    pub(crate) fn room(&self, number: u32, call: &Made) -> Room {
        if !self.counts_files || !call.writes() {
            return Room::Any;
        }
        self.counted(number, call).unwrap_or(Room::OfNode(number))
    }

    /// Does the same; `None` if regions count by themselves, or the call writes too many files to be told apart.
    fn counted(&self, number: u32, call: &Made) -> Option<Room> {
        let frame = &self.get(number)?.run.root;
        if !frame.regions.is_empty() || frame.machine.is_some() {
            return None;
        }
        let policy = &self.machine().states.get(&frame.at)?.policy;
        let Some(limit) = policy.files_max else {
            return Some(Room::Any);
        };
        let files = &frame.stay.used.files;
        let writes = &call.call.as_ref().ok()?.facts.writes;
        let mut known = 0_u64;
        for (bit, write) in writes.iter().enumerate() {
            let bit = 1_u64.checked_shl(u32::try_from(bit).ok()?)?;
            if write.path.as_ref().is_some_and(|path| files.contains(path)) {
                known |= bit;
            }
        }
        let left = usize::try_from(limit).unwrap_or(usize::MAX);
        let left = left.saturating_sub(files.len()).min(writes.len());
        Some(Room::Files { known, left })
    }

    /// Returns the number of a call's effects: `base` is everything but the bytes and the counted files themselves.
    pub(crate) fn change(&mut self, base: Vec<u8>, files: Vec<String>) -> u32 {
        let base = short(self.bases.insert_full(base).0);
        short(self.changes.insert_full((base, files)).0)
    }

    /// Returns the result of a call at a node; `None`: it is not known from this node or another of its place.
    pub(crate) fn result(&mut self, number: u32, change: u32, bytes: u64) -> Option<u32> {
        if let Some(known) = self.steps.get(&(number, change, bytes)) {
            return Some(*known);
        }
        let place = self.get(number)?.place;
        let (base, files) = self.changes.get_index(change as usize)?;
        let step = match self.first.get(&(place, change, bytes)) {
            Some(first) => *first,
            None => self.stays.get(&(place, *base))?.with_bytes(bytes),
        };
        let files = files.clone();
        let to = self.repeat(number, step, &files)?;
        self.steps.insert((number, change, bytes), to);
        Some(to)
    }

    /// Stores the run after a call at a node, and returns its node.
    pub(crate) fn store(&mut self, number: u32, (change, bytes): (u32, u64), run: Run) -> u32 {
        let before = self.get(number);
        let place = before.map(|node| node.place);
        let effect = before.map(|node| Effect::between(&node.run, &run));
        let to = self.number(run);
        self.steps.insert((number, change, bytes), to);
        if let Some((place, effect)) = place.zip(effect) {
            let step = Step { to, effect };
            self.first.entry((place, change, bytes)).or_insert(step);
            if let Effect::Stays { bytes: more, .. } = effect
                && more == bytes
                && let Some((base, _)) = self.changes.get_index(change as usize)
            {
                self.stays.entry((place, *base)).or_insert(step);
            }
        }
        to
    }

    /// Does a step that was done at another node of the same place, and writes `files`.
    fn repeat(&mut self, number: u32, step: Step, files: &[String]) -> Option<u32> {
        let (calls, bytes) = match step.effect {
            Effect::Enters => return Some(step.to),
            Effect::Stays { calls, bytes } => (calls, bytes),
            Effect::Other => return None,
        };
        let before = &self.get(number)?.run.root.stay.used;
        let used = Used {
            calls: before.calls.checked_add(calls)?,
            files: before.files.iter().chain(files).cloned().collect(),
            bytes: before.bytes.checked_add(bytes)?,
        };
        let (named, node) = self.all.get_index(step.to as usize)?;
        let named = self.abstraction.recounted((named, &node.run), &used)?;
        if let Some(known) = self.all.get_index_of(&named) {
            return Some(short(known));
        }
        let mut run = node.run.clone();
        run.root.stay.used = used;
        Some(self.add(named, run))
    }
}

/// Shortens a number; a table with more than four thousand million items does not fit into memory.
pub(crate) fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the names of a run's current states.
pub(crate) fn standing(run: &Run) -> Vec<String> {
    let leaves = run.open_leaves();
    let frames = leaves.iter().filter_map(|path| run.frame(path));
    frames.map(|frame| frame.at.to_string()).collect()
}
