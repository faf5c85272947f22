//! The runs that a session may have been at, one for each state that rules can distinguish.

use std::rc::Rc;

use indexmap::{IndexMap, IndexSet, map::Entry};
use interlock_core::{machine::Machine, run::Run};
use interlock_prove::{AbstractState, Abstraction, FreeAct};

use crate::told::{Question, Told};

/// Runs of one machine, by number.
#[derive(Debug)]
pub(crate) struct Nodes {
    abstraction: Abstraction,
    all: IndexMap<AbstractState, Node>,
    /// What determines the answer to a call, without the counts of limits.
    judged: IndexSet<Box<[u32]>>,
    /// Everything except the counts of limits and the counted files.
    places: IndexSet<(u32, Box<[u32]>)>,
    /// Results of calls that change no file, by the node and the number of their effects.
    pub(crate) steps: IndexMap<(u32, u32), u32>,
    pub(crate) changes: IndexSet<Vec<u8>>,
    /// Answers to calls.
    pub(crate) told: IndexMap<Question, Rc<Told>>,
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
    pub(crate) taken: Vec<(String, String, usize)>,
    pub(crate) to: u32,
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
            all: IndexMap::new(),
            judged: IndexSet::new(),
            places: IndexSet::new(),
            steps: IndexMap::new(),
            changes: IndexSet::new(),
            told: IndexMap::new(),
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
        let run = node.run.clone();
        let moves = self.abstraction.moves(&run);
        let free = moves.into_iter().map(|one| Free {
            act: one.act,
            taken: one.taken,
            to: self.number(one.run),
        });
        let free: Rc<Vec<Free>> = Rc::new(free.collect());
        if let Some((_, node)) = self.all.get_index_mut(number as usize) {
            node.free = Some(Rc::clone(&free));
        }
        free
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
