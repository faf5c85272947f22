//! The runs that a session may have been at, one for each state that rules can tell apart.

use std::rc::Rc;

use indexmap::{IndexMap, IndexSet, map::Entry};
use interlock_core::{machine::Machine, run::Run};
use interlock_prove::{AbstractState, Abstraction, Count, Counted, FreeAct};

use crate::step::{Step, Written};

/// Runs of one machine, each by a number.
#[derive(Debug)]
pub(crate) struct Nodes {
    abstraction: Abstraction,
    /// By the place and what limits have counted there.
    all: IndexMap<(u32, Box<[u64]>), Node>,
    places: IndexMap<AbstractState, Place>,
    /// What decides a call, without what limits have counted.
    judged: IndexSet<Box<[u32]>>,
    /// What calls have brought about, by the node and the number of the change, where it is not so in the whole place.
    steps: IndexMap<(u32, u32), u32>,
    pub(crate) changes: IndexSet<Vec<u8>>,
    /// Whether some state counts the bytes of results.
    pub(crate) counts_bytes: bool,
    /// Whether a write may lead to another state.
    pub(crate) interrupts: bool,
    /// Whether what a call is told may depend on what limits have counted, beyond whether they are used up.
    pub(crate) counts_files: bool,
}

/// One run.
#[derive(Debug)]
pub(crate) struct Node {
    /// Nodes of the same place differ in what limits have counted alone.
    pub(crate) place: u32,
    /// Nodes with the same number are told the same about a call that writes nothing.
    pub(crate) judged: u32,
    is_over: bool,
    free: Option<Rc<[Free]>>,
}

impl Node {
    /// Tells whether its run has ended.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Runs that differ in what limits have counted alone.
#[derive(Debug)]
struct Place {
    judged: u32,
    /// One of them.
    run: Run,
    /// What its limits have counted.
    counts: Rc<[Count]>,
    states: Vec<String>,
    /// What calls bring about, by the number of the change.
    steps: IndexMap<u32, Rc<Step>>,
    /// What may be done without a call, and where each leads; a step that is not the same everywhere has none.
    free: Option<Rc<[FreeStep]>>,
}

/// What may be done in a place without a call, and where it leads, if that is the same everywhere in it.
type FreeStep = (Rc<FreeChoice>, Option<Step>);

/// What may be done at a node without a call.
#[derive(Debug, Clone)]
pub(crate) struct Free {
    pub(crate) choice: Rc<FreeChoice>,
    pub(crate) to: u32,
}

/// Something that is done without a call.
#[derive(Debug)]
pub(crate) struct FreeChoice {
    pub(crate) act: FreeAct,
    /// The transitions that it takes: the state, the event, and which of its branches.
    pub(crate) taken: Vec<(String, String, usize)>,
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
            places: IndexMap::new(),
            judged: IndexSet::new(),
            steps: IndexMap::new(),
            changes: IndexSet::new(),
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

    /// Returns the node that every session begins at; `None`: the workflow cannot begin.
    pub(crate) fn start(&mut self) -> Option<u32> {
        let run = self.abstraction.start()?;
        let (place, counts) = self.place(run);
        Some(self.number(place, counts.iter().map(|count| count.now).collect()))
    }

    /// Returns the number of the place of a run, and what its limits have counted.
    fn place(&mut self, run: Run) -> (u32, Vec<Count>) {
        let counts = self.abstraction.counts(&run);
        let named = self.abstraction.name(&run);
        let judged = short(self.judged.insert_full(named.judged.clone()).0);
        let number = match self.places.entry(named) {
            Entry::Occupied(known) => known.index(),
            Entry::Vacant(vacant) => {
                let index = vacant.index();
                vacant.insert(Place {
                    judged,
                    states: standing(&run),
                    run,
                    counts: counts.clone().into(),
                    steps: IndexMap::new(),
                    free: None,
                });
                index
            }
        };
        (short(number), counts)
    }

    /// Returns the number of the node in a place of which limits have counted this.
    pub(crate) fn number(&mut self, place: u32, counts: Box<[u64]>) -> u32 {
        let Some((_, at)) = self.places.get_index(place as usize) else {
            return u32::MAX;
        };
        match self.all.entry((place, counts)) {
            Entry::Occupied(known) => short(known.index()),
            Entry::Vacant(vacant) => {
                let number = short(vacant.index());
                let node = Node {
                    place,
                    judged: at.judged,
                    is_over: at.run.is_over(),
                    free: None,
                };
                vacant.insert(node);
                number
            }
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Node> {
        self.all.get_index(number as usize).map(|(_, node)| node)
    }

    fn place_of(&self, number: u32) -> Option<(&Place, &[u64])> {
        let ((place, counts), _) = self.all.get_index(number as usize)?;
        let (_, place) = self.places.get_index(*place as usize)?;
        Some((place, counts))
    }

    /// Names the states that a node stands in.
    pub(crate) fn states(&self, number: u32) -> &[String] {
        self.place_of(number)
            .map_or(&[], |(place, _)| place.states.as_slice())
    }

    /// Makes the run of a node.
    pub(crate) fn run(&self, number: u32) -> Option<Run> {
        let (place, counts) = self.place_of(number)?;
        let mut run = place.run.clone();
        let counts = place.counts.iter().zip(counts.iter().copied());
        self.abstraction.set_counts(&mut run, counts);
        Some(run)
    }

    /// Returns a run that is told the same as that of a node about a call that writes nothing.
    pub(crate) fn run_alike(&self, number: u32) -> Option<&Run> {
        self.place_of(number).map(|(place, _)| &place.run)
    }

    /// Says of the limits of files at a node how many there are and which of the set `written` are among them, where that
    /// may decide what a call that writes these is told.
    pub(crate) fn files_that_matter(&mut self, number: u32, written: u32) -> Vec<u64> {
        let mut found = Vec::new();
        let Some((place, counts)) = self.place_of(number) else {
            return found;
        };
        let known: Vec<(u64, u32)> = place
            .counts
            .iter()
            .zip(counts)
            .filter(|(count, _)| count.of == Counted::Files)
            .map(|(count, now)| (count.limit, set(*now)))
            .collect();
        for (limit, known) in known {
            let all = self.abstraction.all_files(known, written);
            if all == known || self.abstraction.count_of_files(all) <= limit {
                // All that it writes may be written.
                found.push(u64::MAX);
            } else {
                found.push(u64::from(known));
            }
        }
        found
    }

    /// Numbers the files that a call may write.
    pub(crate) fn set_of<'a>(&mut self, files: impl Iterator<Item = &'a String>) -> u32 {
        self.abstraction.files(files)
    }

    /// Tells whether a node may do all that another of the same place may, as far as limits go.
    pub(crate) fn permits(&self, one: u32, other: u32) -> bool {
        let (Some((place, one)), Some((_, other))) = (self.place_of(one), self.place_of(other))
        else {
            return false;
        };
        let mut counts = place.counts.iter().zip(one.iter().zip(other));
        counts.all(|(count, (one, other))| match count.of {
            Counted::Calls | Counted::Bytes => one <= other,
            Counted::Files => {
                one == other || self.abstraction.has_no_more_files(set(*one), set(*other))
            }
        })
    }

    /// Returns where a change leads from a node, if that is known.
    pub(crate) fn known_step(&mut self, node: u32, change: u32) -> Option<u32> {
        let (place, _) = self.place_of(node)?;
        if let Some(step) = place.steps.get(&change).map(Rc::clone)
            && let Some(to) = self.stepped(node, &step)
        {
            return Some(to);
        }
        self.steps.get(&(node, change)).copied()
    }

    /// Notes where a change leads from a node; returns the node that it leads to.
    pub(crate) fn learn_step(
        &mut self,
        node: u32,
        after: Run,
        change: u32,
        written: &Written,
    ) -> u32 {
        let (to, step) = self.step(node, after, written);
        self.steps.insert((node, change), to);
        let place = self.get(node).map_or(u32::MAX, |node| node.place);
        if let Some(step) = step
            && let Some((_, place)) = self.places.get_index_mut(place as usize)
        {
            place.steps.insert(change, Rc::new(step));
        }
        to
    }

    /// Returns the node of a run that came of another node, and the step where it is the same in the whole place.
    pub(crate) fn step(&mut self, from: u32, after: Run, written: &Written) -> (u32, Option<Step>) {
        let (to, counts) = self.place(after);
        let before = self.place_of(from).map(|(place, counts)| {
            let counts = place.counts.iter().zip(counts);
            let counts = counts.map(|(count, now)| Count {
                now: *now,
                ..count.clone()
            });
            counts.collect::<Vec<Count>>()
        });
        let before = before.unwrap_or_default();
        let step = Step::between(&mut self.abstraction, &before, (to, &counts), written);
        let to = self.number(to, counts.iter().map(|count| count.now).collect());
        (to, step)
    }

    /// Does a step at a node; `None`: there it is not the same.
    fn stepped(&mut self, node: u32, step: &Step) -> Option<u32> {
        let ((_, counts), _) = self.all.get_index(node as usize)?;
        let counts = step.counts(&mut self.abstraction, counts)?;
        Some(self.number(step.to, counts))
    }

    /// Lists what may be done at a node without a call.
    pub(crate) fn free(&mut self, number: u32) -> Rc<[Free]> {
        let Some(node) = self.get(number) else {
            return Rc::default();
        };
        if let Some(known) = &node.free {
            return Rc::clone(known);
        }
        let free = match self.free_as_elsewhere(number) {
            Some(free) => free,
            None => self.free_anew(number),
        };
        if let Some((_, node)) = self.all.get_index_mut(number as usize) {
            node.free = Some(Rc::clone(&free));
        }
        free
    }

    /// Lists it by what is known of other nodes of the place.
    fn free_as_elsewhere(&mut self, number: u32) -> Option<Rc<[Free]>> {
        let known = self.place_of(number)?.0.free.as_ref().map(Rc::clone)?;
        let each = known.iter().map(|(choice, step)| {
            Some(Free {
                choice: Rc::clone(choice),
                to: self.stepped(number, step.as_ref()?)?,
            })
        });
        each.collect()
    }

    /// Lists it by trying it.
    fn free_anew(&mut self, number: u32) -> Rc<[Free]> {
        let Some(run) = self.run(number) else {
            return Rc::default();
        };
        let place = self.get(number).map_or(u32::MAX, |node| node.place);
        let (mut free, mut steps) = (Vec::new(), Vec::new());
        for one in self.abstraction.moves(&run) {
            let choice = Rc::new(FreeChoice {
                act: one.act,
                taken: one.taken,
            });
            let (to, step) = self.step(number, one.run, &Written::default());
            steps.push((Rc::clone(&choice), step));
            free.push(Free { choice, to });
        }
        if let Some((_, place)) = self.places.get_index_mut(place as usize) {
            place.free = Some(steps.into());
        }
        free.into()
    }
}

/// Shortens the number of a set of files.
fn set(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Shortens a number; a table of more than four thousand million items fits no memory.
pub(crate) fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Names the states that a run stands in.
pub(crate) fn standing(run: &Run) -> Vec<String> {
    let leaves = run.open_leaves();
    let frames = leaves.iter().filter_map(|path| run.frame(path));
    frames.map(|frame| frame.at.to_string()).collect()
}
