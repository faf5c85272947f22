//! The stages as a graph, with the branches and forks of each.

use std::collections::{HashMap, HashSet};

use crate::pipeline::syntax::{END, FAIL, Fork, Next, Pipeline, Stage};

/// Maximum number of chains of branches examined for one stage; more than one is already an error.
const CHAINS_MAX: usize = 2;

/// A branch of a fork: the index of the forking stage, and of the sibling.
pub(super) type Branch = (usize, usize);

/// The stages of a pipeline as a graph, by index.
pub(super) struct Flow<'p> {
    pub(super) pipeline: &'p Pipeline,
    /// Index of each stage.
    places: HashMap<&'p str, usize>,
    /// Branches that contain each stage, outermost first; empty if it is unreachable.
    pub(super) chains: Vec<Vec<Vec<Branch>>>,
}

/// Target of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// The stage with this index.
    Stage(usize),
    /// To `end`.
    End,
    /// To `fail`.
    Fail,
    /// A name that no stage has.
    Nowhere,
}

impl<'p> Flow<'p> {
    pub(super) fn of(pipeline: &'p Pipeline) -> Self {
        let places = pipeline.stages.keys().enumerate();
        let mut flow = Self {
            pipeline,
            places: places.map(|(at, id)| (id.as_str(), at)).collect(),
            chains: vec![Vec::new(); pipeline.stages.len()],
        };
        flow.walk();
        flow
    }

    pub(super) fn stage(&self, at: usize) -> Option<(&'p str, &'p Stage)> {
        let (id, stage) = self.pipeline.stages.get_index(at)?;
        Some((id.as_str(), stage))
    }

    /// Returns the name of a stage.
    pub(super) fn id(&self, at: usize) -> &'p str {
        self.stage(at).map_or("", |(id, _)| id)
    }

    pub(super) fn find(&self, name: &str) -> To {
        match self.places.get(name) {
            Some(at) => To::Stage(*at),
            None if name == END => To::End,
            None if name == FAIL => To::Fail,
            None => To::Nowhere,
        }
    }

    /// Returns the index of the first stage of a run.
    pub(super) fn entry(&self) -> Option<usize> {
        match &self.pipeline.entry {
            None => (!self.pipeline.stages.is_empty()).then_some(0),
            Some(entry) => self.places.get(entry.text.as_str()).copied(),
        }
    }

    /// Returns the fork of a stage.
    pub(super) fn fork(&self, at: usize) -> Option<&'p Fork> {
        match &self.stage(at)?.1.next {
            Next::Fork(fork) => Some(fork),
            _ => None,
        }
    }

    /// Returns the join of the fork of a stage.
    pub(super) fn join(&self, owner: usize) -> Option<usize> {
        let join = self.fork(owner)?.join.as_ref()?;
        self.places.get(join.text.as_str()).copied()
    }

    /// Returns the siblings of the fork of a stage.
    pub(super) fn siblings(&self, owner: usize) -> Vec<usize> {
        let fork = self.fork(owner).into_iter();
        let names = fork.flat_map(|fork| &fork.siblings);
        names
            .filter_map(|name| self.places.get(name.text.as_str()).copied())
            .collect()
    }

    /// Returns the targets of the stage after success, apart from a fork.
    pub(super) fn next(&self, at: usize) -> Vec<To> {
        match self.stage(at).map(|(_, stage)| &stage.next) {
            Some(Next::To(target)) => vec![self.find(&target.text)],
            Some(Next::Branches(branches)) => branches
                .iter()
                .map(|branch| self.find(&branch.target.text))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the other targets of the stage.
    pub(super) fn ends(&self, at: usize) -> Vec<To> {
        let ends = self.stage(at).map(|(_, stage)| stage.ends.as_slice());
        let ends = ends.unwrap_or_default().iter();
        ends.map(|(_, target)| self.find(&target.text)).collect()
    }

    /// Returns the target of a failed fork of the stage.
    pub(super) fn on_fail(&self, at: usize) -> Option<To> {
        let target = self.fork(at)?.on_fail.as_ref()?;
        Some(self.find(&target.text))
    }

    /// Returns whether entering `to` ends a branch.
    pub(super) fn ends_branch(&self, chain: &[Branch], to: To) -> bool {
        let Some((owner, _)) = chain.last() else {
            return false;
        };
        match to {
            To::Stage(at) => self.join(*owner) == Some(at),
            To::End => true,
            To::Fail | To::Nowhere => false,
        }
    }

    /// Finds every reachable stage, and its branches.
    fn walk(&mut self) {
        let mut open: Vec<(usize, Vec<Branch>)> = Vec::new();
        open.extend(self.entry().map(|at| (at, Vec::new())));
        while let Some((at, chain)) = open.pop() {
            let Some(known) = self.chains.get_mut(at) else {
                continue;
            };
            if known.contains(&chain) || known.len() >= CHAINS_MAX {
                continue;
            }
            known.push(chain.clone());
            let plain = self.next(at).into_iter().chain(self.ends(at));
            for to in plain.chain(self.on_fail(at)) {
                match to {
                    To::Stage(next) if !self.ends_branch(&chain, to) => {
                        open.push((next, chain.clone()));
                    }
                    _ => {}
                }
            }
            if let Some(join) = self.join(at)
                && !self.ends_branch(&chain, To::Stage(join))
            {
                open.push((join, chain.clone()));
            }
            // A fork within itself is an error whatever it contains.
            if chain.iter().all(|(owner, _)| *owner != at) {
                for sibling in self.siblings(at) {
                    let mut inner = chain.clone();
                    inner.push((at, sibling));
                    open.push((sibling, inner));
                }
            }
        }
    }

    /// Returns the stages that only run in a branch that another stage joins.
    pub(super) fn inside(&self) -> HashSet<&'p str> {
        let joined = |chain: &Vec<Branch>| {
            let last = chain.last();
            last.is_some_and(|(owner, _)| self.join(*owner).is_some())
        };
        let stages = self.chains.iter().enumerate();
        stages
            .filter(|(_, chains)| !chains.is_empty() && chains.iter().all(joined))
            .map(|(at, _)| self.id(at))
            .collect()
    }

    /// Returns whether the stage is reachable.
    pub(super) fn is_reached(&self, at: usize) -> bool {
        self.chains.get(at).is_some_and(|chains| !chains.is_empty())
    }

    /// Returns the stages that can be reached in a branch before its fork joins.
    pub(super) fn within(&self, (owner, sibling): Branch) -> Vec<bool> {
        let join = self.join(owner);
        let mut seen = vec![false; self.chains.len()];
        let mut open = vec![sibling];
        while let Some(at) = open.pop() {
            let Some(flag) = seen.get_mut(at).filter(|seen| !**seen) else {
                continue;
            };
            if Some(at) == join {
                continue;
            }
            *flag = true;
            let plain = self.next(at).into_iter().chain(self.ends(at));
            open.extend(plain.chain(self.on_fail(at)).filter_map(|to| match to {
                To::Stage(next) => Some(next),
                _ => None,
            }));
            open.extend(self.join(at));
            open.extend(self.siblings(at));
        }
        seen
    }
}
