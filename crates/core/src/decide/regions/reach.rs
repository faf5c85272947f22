//! Which states a region can still reach, and therefore which regions wait for which others.

use std::collections::BTreeSet;

use crate::{
    decide::transitions::error,
    machine::{Machine, Over, Target},
    names::StateName,
    run::{Frame, Region},
};

/// The transitions that regions of one fork may take.
pub(super) struct Arrows<'m> {
    pub(super) machine: &'m Machine,
    /// The fork whose regions are active; paths through it do not count.
    pub(super) opener: &'m StateName,
    /// Whether the fork is inside the region of an item, so that regions end where they would leave that region.
    pub(super) of_item: bool,
}

/// Returns whether an active region can still reach `at`.
pub(super) fn may_come(arrows: &Arrows<'_>, holder: &Frame, but: &str, at: &StateName) -> bool {
    holder
        .open_regions()
        .filter(|region| !region.frame.stay.waits_at_join() && region.name != but)
        .any(|region| leads_to(arrows, &region.frame.at, at))
}

/// Returns whether `from` leads to `to` by a path that does not pass through the active fork.
fn leads_to(arrows: &Arrows<'_>, from: &StateName, to: &StateName) -> bool {
    let mut seen: BTreeSet<&StateName> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in next_states(arrows, at) {
            if next == to {
                return true;
            }
            if next != arrows.opener && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

fn next_states<'m>(arrows: &Arrows<'m>, at: &StateName) -> Vec<&'m StateName> {
    let Some(state) = arrows.machine.states.get(at) else {
        return Vec::new();
    };
    let stays = |to: &StateName| {
        let to = arrows.machine.states.get(to).map(|state| &state.activity);
        !arrows.of_item || state.keeps_item || to.is_some_and(|to| to.items().is_some())
    };
    let mut next: Vec<&StateName> = Vec::new();
    for (event, rule) in &state.on {
        for transition in &rule.transitions {
            if let Target::State(to) = &transition.target
                && (*event == error() || stays(to))
            {
                next.push(to);
            }
        }
    }
    match state.activity.parallel().map(|parallel| &parallel.over) {
        Some(Over::Branches(branches)) => {
            next.extend(branches.values().map(|branch| &branch.initial));
        }
        Some(Over::Items(items)) => {
            next.push(&items.initial);
            next.push(&items.without_items);
            next.extend(items.exits.iter());
        }
        Some(Over::Lines(_)) | None => {}
    }
    next
}

/// Finds the regions that wait at one state and may continue, in their order.
pub(super) fn next_meeting(arrows: &Arrows<'_>, holder: &Frame) -> Option<Vec<String>> {
    let waiting = |region: &&Region| region.frame.stay.waits_at_join();
    let mut places: Vec<&StateName> = Vec::new();
    for region in holder.open_regions().filter(waiting) {
        if !places.contains(&&region.frame.at) {
            places.push(&region.frame.at);
        }
    }
    places.sort_by_key(|at| arrows.machine.states.get_index_of(at.as_str()));
    let free: Vec<&StateName> = places
        .iter()
        .copied()
        .filter(|at| !may_come(arrows, holder, "", at))
        .collect();
    let leads = |from: &StateName, to: &StateName| leads_to(arrows, from, to);
    // One that another waiting one leads to comes later, unless they go in a circle.
    let first = free
        .iter()
        .find(|at| {
            places
                .iter()
                .all(|other| other == *at || !leads(other, at) || leads(at, other))
        })
        .or(free.first())?;
    let names = holder
        .open_regions()
        .filter(waiting)
        .filter(|region| region.frame.at == **first)
        .map(|region| region.name.clone())
        .collect();
    Some(names)
}
