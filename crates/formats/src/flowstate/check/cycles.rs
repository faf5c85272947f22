//! States as a graph: transitions and cycles.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::flowstate::syntax::State;

/// Transitions by position.
pub(super) struct Graph {
    leads: Vec<Vec<usize>>,
    /// Whether a state may end its region.
    ends: Vec<bool>,
}

impl Graph {
    pub(super) fn of(states: &IndexMap<String, State>) -> Self {
        let targets = |state: &State| {
            let goto = state.goto.iter().flat_map(|goto| {
                let cases = goto.cases.iter().map(|(_, target)| target);
                cases.chain(&goto.rest)
            });
            let handlers = state.on_error.iter().map(|handler| &handler.target);
            let all = state.next.iter().chain(goto).chain(handlers);
            all.filter_map(|target| states.get_index_of(&target.text))
                .collect()
        };
        Self {
            leads: states.values().map(targets).collect(),
            ends: states
                .values()
                .map(|state| state.next.is_none() && state.goto.is_none())
                .collect(),
        }
    }

    fn next(&self, at: usize) -> &[usize] {
        self.leads.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns for each state whether it can be reached from `start`.
    pub(super) fn reached(&self, start: usize) -> Vec<bool> {
        let mut reached = vec![false; self.leads.len()];
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            if let Some(seen) = reached.get_mut(at)
                && !*seen
            {
                *seen = true;
                open.extend(self.next(at));
            }
        }
        reached
    }

    /// Returns whether a state of a cycle leads out of it.
    pub(super) fn leaves(&self, at: usize, circle: &BTreeSet<usize>) -> bool {
        let out = |to: &usize| !circle.contains(to);
        self.next(at).iter().any(out) || self.ends.get(at) == Some(&true)
    }

    /// Returns the cycles of states, in the order of the file.
    ///
    /// This is Tarjan's algorithm with an explicit stack, since workflows may be long.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        let mut walk = Walk {
            graph: self,
            number: vec![None; self.leads.len()],
            low: vec![0; self.leads.len()],
            on_stack: vec![false; self.leads.len()],
            stack: Vec::new(),
            count: 0,
            found: Vec::new(),
        };
        for at in 0..self.leads.len() {
            walk.from(at);
        }
        let mut found = walk.found;
        found.retain(|circle| match circle.as_slice() {
            [only] => self.next(*only).contains(only),
            _ => true,
        });
        for circle in &mut found {
            circle.sort_unstable();
        }
        found.sort();
        found
    }
}

struct Walk<'g> {
    graph: &'g Graph,
    number: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Walk<'_> {
    fn from(&mut self, start: usize) {
        if self.number(start).is_some() {
            return;
        }
        let mut open = vec![(start, 0)];
        self.enter(start);
        while let Some((at, nth)) = open.last_mut() {
            let here = *at;
            let next = self.graph.next(here).get(*nth).copied();
            *nth += 1;
            match next {
                Some(to) if self.number(to).is_none() => {
                    self.enter(to);
                    open.push((to, 0));
                }
                Some(to) if self.on_stack.get(to) == Some(&true) => {
                    let number = self.number(to).unwrap_or_default();
                    self.lower(here, number);
                }
                Some(_) => {}
                None => {
                    open.pop();
                    self.close(here);
                    if let Some((above, _)) = open.last() {
                        let low = self.low.get(here).copied().unwrap_or_default();
                        self.lower(*above, low);
                    }
                }
            }
        }
    }

    fn number(&self, at: usize) -> Option<usize> {
        self.number.get(at).copied().flatten()
    }

    fn enter(&mut self, at: usize) {
        let count = self.count;
        self.count += 1;
        set(&mut self.number, at, Some(count));
        set(&mut self.low, at, count);
        set(&mut self.on_stack, at, true);
        self.stack.push(at);
    }

    fn lower(&mut self, at: usize, to: usize) {
        if let Some(low) = self.low.get_mut(at) {
            *low = (*low).min(to);
        }
    }

    fn close(&mut self, at: usize) {
        if self.number(at) != self.low.get(at).copied() {
            return;
        }
        let mut circle = Vec::new();
        while let Some(top) = self.stack.pop() {
            set(&mut self.on_stack, top, false);
            circle.push(top);
            if top == at {
                break;
            }
        }
        self.found.push(circle);
    }
}

fn set<T>(all: &mut [T], at: usize, value: T) {
    if let Some(place) = all.get_mut(at) {
        *place = value;
    }
}
