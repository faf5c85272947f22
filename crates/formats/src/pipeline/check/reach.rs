//! Unreachable stages, and stages without a path to an end.

use super::{
    Check,
    flow::{Flow, To},
};

impl Check<'_> {
    /// Reports unreachable stages, and stages without a path to an end.
    pub(super) fn reach(&mut self, flow: &Flow<'_>) {
        let ended = leads_to_an_end(flow);
        for (at, (id, stage)) in self.pipeline.stages.iter().enumerate() {
            if !flow.is_reached(at) {
                self.report
                    .error(
                        stage.span,
                        "unreachable_stage",
                        format!("nothing leads to `{id}`"),
                    )
                    .help("name it in `next` or `on` of another stage, or remove it");
            } else if ended.get(at) != Some(&true) {
                self.report
                    .error(
                        stage.span,
                        "dead_end",
                        format!("neither `end` nor `fail` can be reached from `{id}`"),
                    )
                    .help("lead on to a stage that ends the run");
            }
        }
    }
}

/// Returns for each stage whether an end can be reached from it.
fn leads_to_an_end(flow: &Flow<'_>) -> Vec<bool> {
    let count = flow.chains.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut open = Vec::new();
    for at in 0..count {
        let mut all: Vec<To> = flow.next(at);
        all.extend(flow.ends(at));
        all.extend(flow.on_fail(at));
        if flow.fork(at).is_some() {
            match flow.join(at) {
                Some(join) => all.push(To::Stage(join)),
                None => all.extend(flow.siblings(at).into_iter().map(To::Stage)),
            }
        }
        for to in all {
            match to {
                To::Stage(next) => before
                    .get_mut(next)
                    .into_iter()
                    .for_each(|list| list.push(at)),
                To::End | To::Fail | To::Nowhere => open.push(at),
            }
        }
    }
    let mut ended = vec![false; count];
    while let Some(at) = open.pop() {
        if let Some(flag) = ended.get_mut(at).filter(|ended| !**ended) {
            *flag = true;
            open.extend(before.get(at).into_iter().flatten());
        }
    }
    ended
}
