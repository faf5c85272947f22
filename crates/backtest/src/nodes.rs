//! The runs that a session may have been at, one for each state that rules can distinguish.

use std::rc::Rc;

use indexmap::{IndexMap, map::Entry};
use interlock_core::{
    machine::Machine,
    run::{Run, Used},
};
use interlock_prove::{AbstractState, Abstraction, FreeAct, Map, Set};

use crate::told::{Question, Told};

/// Runs of one machine, by number.
#[derive(Debug)]
pub(crate) struct Nodes {
    abstraction: Abstraction,
    all: Map<AbstractState, Node>,
    /// What determines the answer to a call, without the counts of limits.
    judged: Set<Box<[u32]>>,
    /// Everything except the counts of limits and the counted files.
    places: Set<(u32, Box<[u32]>)>,
    /// Results of calls, by the node and the number of their effects.
    steps: Map<(u32, u32), u32>,
    /// The first of these results at each place, by the number of the place.
    first: Map<(u32, u32), Step>,
    /// Effects of calls, and the files that each writes if files are counted.
    pub(crate) changes: IndexMap<Vec<u8>, Vec<String>>,
    /// What may be done at a place without a call.
    free: Map<u32, FreeOfPlace>,
    /// Answers to calls.
    pub(crate) told: Map<Question, Rc<Told>>,
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
    pub(crate) act: FreeAct,
    /// Its transitions: the state, the event, and the index of the branch.
    pub(crate) taken: Rc<Vec<(String, String, usize)>>,
    pub(crate) to: u32,
}

/// What may be done at the first node of a place without a call, and how it leads to another node.
type FreeOfPlace = Rc<Vec<(Free, Step)>>;

/// A step from one node, as far as it is the same at every node of its place.
#[derive(Debug, Clone, Copy)]
struct Step {
    to: u32,
    effect: Effect,
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
            changes: IndexMap::new(),
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
        let known = self.free.get(&place).map(Rc::clone);
        let repeated = known.and_then(|known| self.repeat_free(number, &known));
        let free = Rc::new(repeated.unwrap_or_else(|| self.ask_free(number, place)));
        if let Some((_, node)) = self.all.get_index_mut(number as usize) {
            node.free = Some(Rc::clone(&free));
        }
        free
    }

    /// Asks the engine what may be done at a node without a call.
    pub(crate) fn ask_free(&mut self, number: u32, place: u32) -> Vec<Free> {
        let Some(run) = self.get(number).map(|node| node.run.clone()) else {
            return Vec::new();
        };
        let mut steps = Vec::new();
        let mut free = Vec::new();
        for one in self.abstraction.moves(&run) {
            let effect = Effect::between(&run, &one.run);
            let to = self.number(one.run);
            let taken = Rc::new(one.taken);
            let copy = |act| Free {
                act,
                taken: Rc::clone(&taken),
                to,
            };
            steps.push((copy(one.act.clone()), Step { to, effect }));
            free.push(copy(one.act));
        }
        self.free.entry(place).or_insert_with(|| Rc::new(steps));
        free
    }

    /// Does at a node what may be done at another of its place; `None`: only the engine can say where that leads.
    fn repeat_free(&mut self, number: u32, known: &FreeOfPlace) -> Option<Vec<Free>> {
        let free = known.iter().map(|(free, step)| {
            Some(Free {
                act: free.act.clone(),
                taken: Rc::clone(&free.taken),
                to: self.repeat(number, *step, &[])?,
            })
        });
        free.collect()
    }

    /// Returns the result of a call at a node; `None`: it is not known from this node or another of its place.
    pub(crate) fn result(&mut self, number: u32, change: u32) -> Option<u32> {
        if let Some(known) = self.steps.get(&(number, change)) {
            return Some(*known);
        }
        let place = self.get(number)?.place;
        let step = *self.first.get(&(place, change))?;
        let files = self.changes.get_index(change as usize);
        let files = files.map(|(_, files)| files.clone()).unwrap_or_default();
        let to = self.repeat(number, step, &files)?;
        self.steps.insert((number, change), to);
        Some(to)
    }

    /// Stores the run after a call at a node, and returns its node.
    pub(crate) fn store(&mut self, number: u32, change: u32, run: Run) -> u32 {
        let before = self.get(number);
        let place = before.map(|node| node.place);
        let effect = before.map(|node| Effect::between(&node.run, &run));
        let to = self.number(run);
        self.steps.insert((number, change), to);
        if let Some((place, effect)) = place.zip(effect) {
            let step = Step { to, effect };
            self.first.entry((place, change)).or_insert(step);
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
