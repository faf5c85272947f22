//! Makes the calls that the new version permits in all possible runs of the old one.

use std::{collections::BTreeSet, rc::Rc};

use super::{Beside, CALLS_MAX, First, Search, states};
use crate::{
    against::brief,
    atlas::Leaf,
    calls::{End, Usable},
    hash::short,
    model::Standing,
    moves::{Act, call_act},
    replay::written,
};

impl Search<'_> {
    /// Makes every call at a leaf of a run of the new version, in both.
    pub(super) fn calls(
        &mut self,
        number: usize,
        (new, old): (u32, Beside),
        place: (usize, &Leaf),
    ) {
        let (index, leaf) = place;
        let beside = self.old_runs(old).to_vec();
        let mut repeats = None;
        for one in self.tries(&leaf.standing, &beside).iter() {
            for end in &one.ends {
                let Some(done) = self.versions[0].call(new, index, one, end) else {
                    break;
                };
                let act = call_act(&leaf.path, one, end.clone());
                let after = self.after(&beside, &leaf.standing, one, end);
                if after.is_empty() {
                    self.refused(number, &beside, act, 0);
                    return;
                }
                let same = self.versions[0].plain(new) == self.versions[0].plain(done.to);
                if done.counts && same && repeats.is_none() {
                    repeats = Some((one.clone(), end.clone()));
                }
                let after = self.closed(after);
                self.enter(done.to, after, short(number), act, 1);
            }
        }
        if let Some((one, end)) = repeats {
            self.used_up(number, (new, beside), leaf, (&one, &end));
        }
    }

    /// Repeats a call that changes nothing until a limit of either version is used up.
    fn used_up(
        &mut self,
        number: usize,
        (mut run, mut beside): (u32, Vec<u32>),
        leaf: &Leaf,
        (one, end): (&Usable, &End),
    ) {
        let own = self.versions[0].limit(run, leaf);
        let others = beside.iter().flat_map(|run| {
            let leaves = self.versions[1].leaves(*run);
            let limits = leaves
                .iter()
                .filter_map(|leaf| self.versions[1].limit(*run, leaf));
            limits.collect::<Vec<u64>>()
        });
        let Some(times) = own.or_else(|| others.max().map(|most| most.saturating_add(1))) else {
            return;
        };
        if times > CALLS_MAX {
            self.bound = Some(format!("bound: limits above {CALLS_MAX} calls"));
            return;
        }
        let mut known = Vec::new();
        let act = call_act(&leaf.path, one, end.clone());
        for before in 0..times {
            let leaves = self.versions[0].leaves(run);
            let index = leaves.iter().position(|other| other.path == leaf.path);
            let done = index.and_then(|index| self.versions[0].call(run, index, one, end));
            let Some(done) = done else {
                break;
            };
            let after = self.after(&beside, &leaf.standing, one, end);
            if after.is_empty() {
                self.refused(number, &beside, act, before);
                return;
            }
            run = done.to;
            beside = self.reached(after, true);
            // Where the old version loses nothing any more, the new one does not use up anything either.
            if own.is_none() && known == beside {
                return;
            }
            known.clone_from(&beside);
        }
        let beside = self.closed(beside);
        self.enter(run, beside, short(number), act, times);
    }

    fn refused(&mut self, node: usize, beside: &[u32], act: Act, before: u64) {
        let line = written(&self.versions[0].side.model, &act);
        self.first = Some(First {
            node,
            what: line.first().map_or_else(String::new, brief),
            act,
            before,
            states: states(&self.versions[1], beside),
        });
    }

    /// Returns the possible runs of the old version after a call; none if it refuses the call.
    fn after(&mut self, beside: &[u32], place: &Standing, one: &Usable, end: &End) -> Vec<u32> {
        let rules = self.versions[0].rules(place);
        self.steps += beside.len();
        let old = &mut self.versions[1];
        let (mut after, mut alike) = (Vec::new(), false);
        for run in beside.iter().copied() {
            if !old.is_open(run) {
                continue;
            }
            for (index, leaf) in old.leaves(run).iter().enumerate() {
                if leaf.asks {
                    continue;
                }
                let usable = old.usable(&leaf.standing);
                let Some(same) = usable.get(one.class).and_then(Option::as_ref) else {
                    continue;
                };
                if same.asked && !one.asked {
                    // There, a person has to say yes; here, nobody is asked.
                    continue;
                }
                if let Some(done) = old.call(run, index, same, end) {
                    alike = alike || old.rules(&leaf.standing) == rules;
                    after.push(done.to);
                }
            }
        }
        if !alike && !after.is_empty() {
            self.bound = Some(format!(
                "`{}` differs in limits of edits, files or the environment, which are not compared",
                place.1
            ));
        }
        after
    }

    /// Lists the calls worth trying in a state: the first of those that are alike there and in all possible runs of the old
    /// version.
    fn tries(&mut self, new: &Standing, beside: &[u32]) -> Rc<[Usable]> {
        let mut places: Vec<Standing> = Vec::new();
        for run in beside.iter().filter(|run| self.versions[1].is_open(**run)) {
            for leaf in self.versions[1].leaves(*run).iter() {
                if !places.contains(&leaf.standing) {
                    places.push(leaf.standing.clone());
                }
            }
        }
        let key = (new.clone(), places);
        if let Some(known) = self.tries.get(&key) {
            return Rc::clone(known);
        }
        let like = |one: &Usable| (one.signature.clone(), one.keys.clone(), one.asked);
        let others: Vec<_> = key
            .1
            .iter()
            .map(|place| self.versions[1].usable(place))
            .collect();
        let mut seen = BTreeSet::new();
        let all = self.versions[0].usable(new);
        let made: Rc<[Usable]> = all
            .iter()
            .flatten()
            .filter(|one| {
                let there = others
                    .iter()
                    .map(|usable| usable.get(one.class).and_then(Option::as_ref).map(like));
                let likeness: Vec<_> = std::iter::once(Some(like(one))).chain(there).collect();
                seen.insert(likeness)
            })
            .cloned()
            .collect();
        self.tries.insert(key, Rc::clone(&made));
        made
    }
}
