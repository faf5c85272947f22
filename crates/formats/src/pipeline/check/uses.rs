//! Context paths in stage texts: whether they are declared, and set by then.

use std::collections::{HashMap, HashSet};

use super::{
    Check,
    flow::{Branch, Flow, To},
};
use crate::stage::Names;

impl Check<'_> {
    /// Checks every path into the context; `whole` if the stages can be followed.
    pub(super) fn uses(&mut self, flow: &Flow<'_>, whole: bool) {
        let stages = self.pipeline.stages.iter();
        let stages: Vec<_> = stages
            .map(|(id, stage)| (id.as_str(), &stage.parts.schema))
            .collect();
        let known: Vec<&str> = self.pipeline.context.keys().map(String::as_str).collect();
        let names = Names {
            declared: &known,
            remedy: "declare it below `input` or `context`",
            open: false,
            schema_key: "completionSchema",
            stages: &stages,
        };
        let mut without: HashMap<usize, Vec<bool>> = HashMap::new();
        for (at, (_, stage)) in self.pipeline.stages.iter().enumerate() {
            for used in &stage.parts.uses {
                let Some(of) = names.check(used, self.report) else {
                    continue;
                };
                if !whole || !flow.is_reached(at) {
                    continue;
                }
                let entered = without
                    .entry(of)
                    .or_insert_with(|| entered_without(flow, of));
                if entered.get(at) == Some(&true) {
                    let id = flow.id(of);
                    self.report
                        .note(
                            used.span,
                            "not_yet_run",
                            format!("`{id}` may not have run by then: the text stays empty there"),
                        )
                        .help("nothing needs to be done where that is meant");
                }
            }
        }
    }
}

/// Returns which stages can be entered before the one with index `of` has a payload.
fn entered_without(flow: &Flow<'_>, of: usize) -> Vec<bool> {
    let mut walk = Walk {
        flow,
        of,
        entered: vec![false; flow.chains.len()],
        done: HashSet::new(),
        ended: HashMap::new(),
        open: flow.entry().into_iter().collect(),
    };
    walk.run();
    walk.entered
}

/// Follows every path on which one stage has no payload.
struct Walk<'f, 'p> {
    flow: &'f Flow<'p>,
    of: usize,
    entered: Vec<bool>,
    /// Branches that can end.
    done: HashSet<Branch>,
    /// Number of these per fork.
    ended: HashMap<usize, usize>,
    open: Vec<usize>,
}

impl Walk<'_, '_> {
    fn run(&mut self) {
        while let Some(at) = self.open.pop() {
            let Some(flag) = self.entered.get_mut(at).filter(|entered| !**entered) else {
                continue;
            };
            *flag = true;
            for to in self.flow.ends(at) {
                self.follow(at, to);
            }
            let skips = |at| {
                let stage = self.flow.stage(at);
                stage.is_some_and(|(_, stage)| stage.may_be_skipped())
            };
            if at == self.of && !skips(at) {
                continue;
            }
            for to in self.flow.next(at) {
                self.follow(at, to);
            }
            if let Some(to) = self.flow.on_fail(at) {
                self.follow(at, to);
            }
            self.open.extend(self.flow.siblings(at));
            self.joined(at);
        }
    }

    fn follow(&mut self, at: usize, to: To) {
        let flow = self.flow;
        for chain in flow.chains.get(at).into_iter().flatten() {
            if !flow.ends_branch(chain, to) {
                if let To::Stage(next) = to {
                    self.open.push(next);
                }
                continue;
            }
            let Some(branch) = chain.last() else { continue };
            if self.done.insert(*branch) {
                *self.ended.entry(branch.0).or_default() += 1;
                self.joined(branch.0);
            }
        }
    }

    /// Continues after a fork all of whose branches can end.
    fn joined(&mut self, owner: usize) {
        if self.entered.get(owner) != Some(&true) || self.flow.fork(owner).is_none() {
            return;
        }
        let siblings = self.flow.fork(owner).map_or(0, |fork| fork.siblings.len());
        if self.ended.get(&owner).copied().unwrap_or_default() >= siblings {
            let to = self.flow.join(owner).map_or(To::End, To::Stage);
            self.follow(owner, to);
        }
    }
}
