//! What the texts of stages take from the context: whether it is declared, and whether it is there by then.

use interlock_core::nearest::nearest;

use super::{
    Check,
    flow::{Branch, Flow, To},
};
use crate::stage::{Declared, ERROR_PARTS, RESERVED, Use, declared};

impl Check<'_> {
    /// Checks every path into the context; `whole`: the stages can be followed.
    pub(super) fn uses(&mut self, flow: &Flow<'_>, whole: bool) {
        for at in 0..flow.chains.len() {
            let Some((_, stage)) = flow.stage(at) else {
                continue;
            };
            for used in &stage.parts.uses {
                self.used(flow, at, used, whole);
            }
        }
    }

    fn used(&mut self, flow: &Flow<'_>, at: usize, used: &Use, whole: bool) {
        match used.path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["upstream", of, ..] => self.upstream(flow, at, of, used, whole),
            ["error", part, rest @ ..] if !ERROR_PARTS.contains(part) || !rest.is_empty() => {
                let message = format!("an error has no `{}`", used.path.get(1..).unwrap_or_default().join("."));
                let parts: Vec<String> = ERROR_PARTS.iter().map(|part| format!("`{part}`")).collect();
                self.report
                    .error(used.span, "ctx_unresolved", message)
                    .help(format!("it has {}", parts.join(", ")));
            }
            [name, ..] if !self.pipeline.context.contains_key(*name) && !RESERVED.contains(name) => {
                let known = self.pipeline.context.keys().map(String::as_str);
                let known = known.chain(RESERVED.iter().copied());
                let near = nearest(name, known)
                    .map_or_else(String::new, |near| format!(": did you mean `ctx.{near}`?"));
                self.report
                    .error(
                        used.span,
                        "ctx_unresolved",
                        format!("`ctx.{name}` is not declared{near}"),
                    )
                    .help("declare it below `input` or `context`");
            }
            _ => {}
        }
    }

    fn upstream(&mut self, flow: &Flow<'_>, at: usize, of: &str, used: &Use, whole: bool) {
        let Some((index, _, stage)) = self.pipeline.stages.get_full(of) else {
            let near = self.near_stage(of);
            self.report
                .error(
                    used.span,
                    "ctx_unresolved",
                    format!("there is no stage `{of}`{near}"),
                )
                .help("name a stage below `stages`");
            return;
        };
        let fields = used.path.get(2..).unwrap_or_default();
        if let Declared::Not(part, near) = declared(&stage.parts.schema, fields) {
            let name = fields.get(..=part).unwrap_or_default().join(".");
            let near = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            self.report
                .error(
                    used.span,
                    "ctx_unresolved",
                    format!("the schema of `{of}` declares no `{name}`{near}"),
                )
                .help("add it to the `properties` of its `completionSchema`, or name another field");
            return;
        }
        if whole && flow.is_reached(at) && may_lack(flow, index, at) {
            self.report
                .note(
                    used.span,
                    "not_yet_run",
                    format!("`{of}` may not have run by then: the text stays empty there"),
                )
                .help("nothing needs to be done where that is meant");
        }
    }
}

/// Tells whether the stage at `at` can be entered while the one at `of` has handed nothing in.
fn may_lack(flow: &Flow<'_>, of: usize, at: usize) -> bool {
    let mut walk = Walk {
        flow,
        of,
        entered: vec![false; flow.chains.len()],
        done: Vec::new(),
        open: flow.entry().into_iter().collect(),
    };
    walk.run();
    walk.entered.get(at) == Some(&true)
}

/// Follows every way on which one stage hands nothing in.
struct Walk<'f, 'p> {
    flow: &'f Flow<'p>,
    of: usize,
    entered: Vec<bool>,
    /// Branches that can end.
    done: Vec<Branch>,
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
            if !self.done.contains(branch) {
                self.done.push(*branch);
                self.joined(branch.0);
            }
        }
    }

    /// Goes on behind a fork all of whose branches can end.
    fn joined(&mut self, owner: usize) {
        if self.entered.get(owner) != Some(&true) || self.flow.fork(owner).is_none() {
            return;
        }
        let siblings = self.flow.siblings(owner);
        let all = siblings.iter().all(|sibling| self.done.contains(&(owner, *sibling)));
        if all {
            let to = self.flow.join(owner).map_or(To::End, To::Stage);
            self.follow(owner, to);
        }
    }
}
