//! What leads where, and in which branch of which fork.

use std::collections::{HashMap, HashSet};

use crate::pipeline::syntax::{END, FAIL, Fork, Next, Pipeline, Stage};

/// Chains of branches that one stage is looked at in; more than one is already out of order.
const CHAINS_MAX: usize = 2;

/// A branch of a fork: the position of the stage that forks, and of the sibling.
pub(super) type Branch = (usize, usize);

/// The stages of a pipeline as a graph, by their positions.
pub(super) struct Flow<'p> {
    pub(super) pipeline: &'p Pipeline,
    /// The position of each stage.
    places: HashMap<&'p str, usize>,
    /// The branches that each stage stands in, outermost first; none: nothing leads to it.
    pub(super) chains: Vec<Vec<Vec<Branch>>>,
}

/// Where an edge leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// To the stage at this position.
    Stage(usize),
    /// To `end`.
    End,
    /// To `fail`.
    Fail,
    /// To a name that no stage has.
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

    /// Returns the position of the first stage of a run.
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

    /// Returns where the stage leads when it ended well, a fork apart.
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

    /// Returns where the stage leads when it ended otherwise.
    pub(super) fn ends(&self, at: usize) -> Vec<To> {
        let ends = self.stage(at).map(|(_, stage)| stage.ends.as_slice());
        let ends = ends.unwrap_or_default().iter();
        ends.map(|(_, target)| self.find(&target.text)).collect()
    }

    /// Returns where a failed fork of the stage leads.
    pub(super) fn on_fail(&self, at: usize) -> Option<To> {
        let target = self.fork(at)?.on_fail.as_ref()?;
        Some(self.find(&target.text))
    }

    /// Tells whether entering `to` ends a branch.
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

    /// Finds every stage that can be reached, and in which branches it stands then.
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
            // A fork within itself is out of order whatever lies in it.
            if chain.iter().all(|(owner, _)| *owner != at) {
                for sibling in self.siblings(at) {
                    let mut inner = chain.clone();
                    inner.push((at, sibling));
                    open.push((sibling, inner));
                }
            }
        }
    }

    /// Returns the stages that only run in a branch which another stage joins.
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

    /// Tells whether anything leads to the stage.
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
