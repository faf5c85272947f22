//! Which states lines can still come to by the arrows written, and so who waits for whom.

use std::collections::BTreeSet;

use crate::{
    machine::{Activity, Machine, Target},
    names::StateName,
    run::{Child, Frame},
};

/// Tells whether a line at work can still come to `at`, by the arrows written.
pub(super) fn may_come(machine: &Machine, holder: &Frame, but: &str, at: &StateName) -> bool {
    holder
        .children
        .iter()
        .filter(|child| child.ended.is_none() && !child.frame.gathering && child.name != but)
        .any(|child| leads_to(machine, &holder.at, &child.frame.at, at))
}

/// Tells whether `from` leads to `to`, other than by way of the fork `opener`, whose lines are still going.
fn leads_to(machine: &Machine, opener: &StateName, from: &StateName, to: &StateName) -> bool {
    let mut seen: BTreeSet<&StateName> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in next_states(machine, at) {
            if next == to {
                return true;
            }
            if next != opener && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

fn next_states<'m>(machine: &'m Machine, at: &StateName) -> Vec<&'m StateName> {
    let Some(state) = machine.states.get(at) else {
        return Vec::new();
    };
    let mut next: Vec<&StateName> = state
        .on
        .values()
        .flat_map(|rule| &rule.transitions)
        .filter_map(|transition| match &transition.target {
            Target::State(to) => Some(to),
            Target::Return | Target::End(_) => None,
        })
        .collect();
    match &state.activity {
        Activity::Fork(fork) => next.extend(fork.branches.values().map(|branch| &branch.initial)),
        Activity::Spread(spread) => {
            next.push(&spread.initial);
            next.push(&spread.without_items);
            next.extend(spread.exits.iter());
        }
        _ => {}
    }
    next
}

/// Finds the lines that wait at one state and may go on, in the order of the lines.
pub(super) fn next_meeting(machine: &Machine, holder: &Frame) -> Option<Vec<String>> {
    let waiting = |child: &&Child| child.ended.is_none() && child.frame.gathering;
    let mut places: Vec<&StateName> = Vec::new();
    for child in holder.children.iter().filter(waiting) {
        if !places.contains(&&child.frame.at) {
            places.push(&child.frame.at);
        }
    }
    places.sort_by_key(|at| machine.states.get_index_of(at.as_str()));
    let free: Vec<&StateName> = places
        .iter()
        .copied()
        .filter(|at| !may_come(machine, holder, "", at))
        .collect();
    let leads = |from: &StateName, to: &StateName| leads_to(machine, &holder.at, from, to);
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
        .children
        .iter()
        .filter(waiting)
        .filter(|child| child.frame.at == **first)
        .map(|child| child.name.clone())
        .collect();
    Some(names)
}
