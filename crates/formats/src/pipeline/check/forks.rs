//! Forks: siblings, their join, and what their branches share.

use std::collections::HashMap;

use super::{
    Check,
    flow::{Flow, To},
};
use crate::pipeline::syntax::{END, FAIL, Fork};

impl Check<'_> {
    /// Reports invalid forks; returns whether all are valid.
    pub(super) fn forks(&mut self, flow: &Flow<'_>) -> bool {
        let before = self.report.count();
        let stages = self.pipeline.stages.len();
        for at in 0..stages {
            let Some(fork) = flow.fork(at) else { continue };
            let names = self.report.count();
            self.siblings(fork);
            if self.report.count() == names {
                self.shared(flow, at, fork);
            }
        }
        if self.report.count() == before {
            for at in 0..stages {
                self.out_of_branches(flow, at, before);
            }
        }
        self.report.count() == before
    }

    fn siblings(&mut self, fork: &Fork) {
        if fork.siblings.len() < 2 {
            self.report
                .error(
                    fork.span,
                    "one_sibling",
                    format!(
                        "two stages or more start at once, and here {}",
                        if fork.siblings.is_empty() {
                            "is none"
                        } else {
                            "is one"
                        }
                    ),
                )
                .help("add a stage, or lead to the one alone: `next: STAGE`");
        }
        let mut seen = HashMap::new();
        for sibling in &fork.siblings {
            if seen.insert(sibling.text.as_str(), ()).is_some() {
                self.report
                    .error(
                        sibling.span,
                        "sibling_twice",
                        format!("`{}` starts here twice", sibling.text),
                    )
                    .help("remove one of the two");
            }
        }
        if let Some(join) = &fork.join
            && seen.contains_key(join.text.as_str())
        {
            self.report
                .error(
                    join.span,
                    "join_among_siblings",
                    format!("`{}` cannot join what it is itself a part of", join.text),
                )
                .help("name the stage that starts when all of them have ended");
        }
    }

    /// Reports a stage that two branches of a fork can both reach.
    fn shared(&mut self, flow: &Flow<'_>, owner: usize, fork: &Fork) {
        let mut holder: Vec<Option<usize>> = vec![None; self.pipeline.stages.len()];
        for sibling in flow.siblings(owner) {
            let within = flow.within((owner, sibling));
            let mut told = false;
            for (at, slot) in holder.iter_mut().enumerate() {
                if within.get(at) != Some(&true) {
                    continue;
                }
                let Some(other) = slot.filter(|other| *other != sibling) else {
                    *slot = Some(sibling);
                    continue;
                };
                if std::mem::replace(&mut told, true) {
                    continue;
                }
                let name = fork
                    .siblings
                    .iter()
                    .find(|name| name.text == flow.id(sibling));
                self.report
                    .error(
                        name.map_or(fork.span, |name| name.span),
                        "shared_stage",
                        format!(
                            "`{}` and `{}` can both reach `{}` before they join",
                            flow.id(other),
                            flow.id(sibling),
                            flow.id(at)
                        ),
                    )
                    .help("have each lead to the join or to `end`, by stages of its own");
            }
        }
    }

    /// Reports targets of a stage that are neither clearly inside its branch nor outside of it.
    ///
    /// `before` is the number of problems while the forks were valid.
    fn out_of_branches(&mut self, flow: &Flow<'_>, at: usize, before: usize) {
        let Some((id, stage)) = flow.stage(at) else {
            return;
        };
        let chains = flow.chains.get(at).map(Vec::as_slice).unwrap_or_default();
        for chain in chains {
            let outer = chain
                .split_last()
                .map(|(_, outer)| outer)
                .unwrap_or_default();
            for target in stage.targets() {
                let to = flow.find(&target.text);
                let joins = |(owner, _): &&(usize, usize)| match to {
                    To::Stage(at) => flow.join(*owner) == Some(at),
                    _ => false,
                };
                if flow.ends_branch(chain, to) {
                    continue;
                }
                if let Some((owner, _)) = outer.iter().find(joins) {
                    self.report
                        .error(
                            target.span,
                            "out_of_branch",
                            format!(
                                "`{}` joins the fork of `{}`, and `{id}` stands in a fork within it",
                                target.text,
                                flow.id(*owner)
                            ),
                        )
                        .help("lead to the join of the inner fork, or to `end`");
                }
            }
        }
        if self.report.count() > before {
            return;
        }
        let joined = |chain: &Vec<(usize, usize)>| {
            let last = chain.last();
            last.is_some_and(|(owner, _)| flow.join(*owner).is_some())
        };
        let mixed = chains.iter().any(joined) && !chains.iter().all(joined);
        let ends = stage
            .targets()
            .into_iter()
            .find(|target| [END, FAIL].contains(&target.text.as_str()));
        if let Some(target) = ends.filter(|_| mixed) {
            self.report
                .error(
                    target.span,
                    "two_ends",
                    format!(
                        "`{id}` runs in a branch and outside of one, so `{}` would mean two things",
                        target.text
                    ),
                )
                .help("write a stage of its own for one of the two");
        }
    }
}
