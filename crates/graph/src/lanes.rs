//! Decides which states are drawn inside which branch of a fork.
//!
//! Branches are written as states of the same machine. A state belongs to the
//! outermost line of execution that reaches it first; where another line leads to
//! it as well, that line is drawn with a reference to it.

use std::collections::VecDeque;

use interlock_core::{
    machine::{Branch, Machine, Over, State, Target},
    names::StateName,
};

/// The depth up to which forks are drawn as boxes within boxes.
const DEPTH_MAX: usize = 8;

/// One line of execution: the machine's own, or a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The fork it is a branch of, as an index of the machine's states.
    pub(crate) fork: Option<usize>,
    /// The branch; empty for the machine's own.
    pub(crate) name: String,
    /// Where it starts.
    pub(crate) initial: StateName,
    /// The state whose entry is its success.
    pub(crate) terminal: Option<StateName>,
    /// Its states as indices of the machine's, in the order in which they are written.
    pub(crate) states: Vec<usize>,
    depth: usize,
}

impl Lane {
    /// Returns whether its forks are drawn as boxes around their branches.
    pub(crate) const fn boxes_forks(&self) -> bool {
        self.depth < DEPTH_MAX
    }
}

/// Returns whether the lines that begin at a state may meet anywhere: they are drawn as arrows, not as boxes.
pub(crate) fn opens_lines(state: &State) -> bool {
    let parallel = state.activity.parallel();
    parallel.is_some_and(|parallel| parallel.meets() || matches!(parallel.over, Over::Items(_)))
}

/// Returns where the lines that begin at a state and may meet anywhere lead, each with a word for it.
pub(crate) fn openings(state: &State) -> Vec<(Option<&'static str>, &StateName)> {
    let Some(parallel) = state.activity.parallel() else {
        return Vec::new();
    };
    match &parallel.over {
        Over::Branches(branches) if parallel.meets() => branches
            .values()
            .map(|branch| (None, &branch.initial))
            .collect(),
        Over::Items(items) => {
            let mut ways = vec![
                (Some("each item"), &items.initial),
                (Some("no items"), &items.without_items),
            ];
            let exits = items.exits.iter();
            ways.extend(exits.map(|exits| (Some("items ended by several ways"), exits)));
            ways
        }
        _ => Vec::new(),
    }
}

/// Returns the branches of a state that are drawn inside it.
pub(crate) fn branches(state: &State) -> Vec<(&str, &Branch)> {
    if opens_lines(state) {
        return Vec::new();
    }
    let branches = state.activity.branches().into_iter().flatten();
    branches
        .map(|(name, branch)| (name.as_str(), branch))
        .collect()
}

/// Divides the states of `machine` among its lines of execution, the machine's own first.
pub(crate) fn lanes(machine: &Machine) -> Vec<Lane> {
    let mut division = Division {
        machine,
        lanes: vec![Lane {
            fork: None,
            name: String::new(),
            initial: machine.initial.clone(),
            terminal: None,
            states: Vec::new(),
            depth: 0,
        }],
        homed: vec![false; machine.states.len()],
        forks: VecDeque::new(),
    };
    let handlers = machine.interrupts.values().map(|found| &found.target);
    let starts = std::iter::once(&machine.initial).chain(handlers);
    let starts = starts.filter_map(|name| machine.states.get_index_of(name));
    division.reach(0, starts.collect());
    division.open_forks();
    for index in 0..machine.states.len() {
        division.reach(0, vec![index]);
        division.open_forks();
    }
    for lane in &mut division.lanes {
        lane.states.sort_unstable();
    }
    division.lanes
}

struct Division<'m> {
    machine: &'m Machine,
    lanes: Vec<Lane>,
    /// For each state, whether it is in a lane.
    homed: Vec<bool>,
    /// Forks whose branches are still to be opened: their lane and their state.
    forks: VecDeque<(usize, usize)>,
}

impl Division<'_> {
    /// Adds to `lane` what can be reached from `open` and is not in a lane yet.
    fn reach(&mut self, lane: usize, mut open: Vec<usize>) {
        let Some(terminal) = self.lanes.get(lane).map(|lane| lane.terminal.clone()) else {
            return;
        };
        while let Some(index) = open.pop() {
            let Some((name, state)) = self.machine.states.get_index(index) else {
                continue;
            };
            match self.homed.get_mut(index) {
                Some(homed) if !*homed => *homed = true,
                _ => continue,
            }
            let Some(lane_here) = self.lanes.get_mut(lane) else {
                continue;
            };
            lane_here.states.push(index);
            let boxed = lane_here.boxes_forks();
            if !branches(state).is_empty() && boxed {
                self.forks.push_back((lane, index));
            }
            if terminal.as_ref() != Some(name) {
                open.extend(self.next(state, !boxed));
            }
        }
    }

    fn open_forks(&mut self) {
        while let Some((lane, fork)) = self.forks.pop_front() {
            let depth = self.lanes.get(lane).map_or(0, |lane| lane.depth + 1);
            let Some((_, state)) = self.machine.states.get_index(fork) else {
                continue;
            };
            for (name, branch) in branches(state) {
                let opened = self.lanes.len();
                self.lanes.push(Lane {
                    fork: Some(fork),
                    name: name.to_owned(),
                    initial: branch.initial.clone(),
                    terminal: Some(branch.terminal.clone()),
                    states: Vec::new(),
                    depth,
                });
                let initial = self.machine.states.get_index_of(&branch.initial);
                self.reach(opened, initial.into_iter().collect());
            }
        }
    }

    /// Returns the states that `state` leads to.
    fn next(&self, state: &State, with_branches: bool) -> Vec<usize> {
        let transitions = state.on.values().flat_map(|rule| &rule.transitions);
        let targets = transitions.filter_map(|transition| match &transition.target {
            Target::State(name) => Some(name),
            Target::Return | Target::End(_) => None,
        });
        let branches = if with_branches {
            branches(state)
        } else {
            Vec::new()
        };
        targets
            .chain(&state.safe_next)
            .chain(branches.iter().map(|(_, branch)| &branch.initial))
            .chain(openings(state).into_iter().map(|(_, opened)| opened))
            .filter_map(|name| self.machine.states.get_index_of(name))
            .collect()
    }
}
