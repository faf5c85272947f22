//! Where the events of a state lead, in words.

use interlock_core::{
    guard::{EvidenceOf, Guard, GuardRef},
    machine::{Activity, ApprovalKind, Over, Parallel, Rule, Target, Transition},
    names::{EventName, StateName},
    place::machine_of,
};

use super::{
    StandingFrame,
    text::{cut, listed, plain},
};
use crate::report::{self, resolved, ways_on};

/// Characters one event may take in a list of several.
const WAY_MAX: usize = 200;

/// Lists the events with their targets, guards and approvals.
pub(super) fn transitions(place: StandingFrame<'_>, max: usize) -> String {
    let mut ways: Vec<String> = ways_on(place.machine, place.run, place.path)
        .into_iter()
        .map(|(event, rule)| cut(&way(place, event, rule), WAY_MAX))
        .collect();
    if let Some(next) = &place.state.safe_next {
        ways.push(format!("any other event -> {}", plain(next.as_str())));
    }
    if ways.is_empty() {
        return "Transitions: none.".to_owned();
    }
    format!(
        "Transitions: {}.",
        listed(ways.into_iter(), max.saturating_sub(14))
    )
}

/// Returns the first event that leads back from an interrupt.
pub(super) fn returning<'a>(place: StandingFrame<'a>) -> Option<&'a EventName> {
    ways_on(place.machine, place.run, place.path)
        .into_iter()
        .find(|(_, rule)| {
            rule.transitions
                .iter()
                .any(|transition| transition.target == Target::Return)
        })
        .map(|(event, _)| event)
}

fn way(place: StandingFrame<'_>, event: &EventName, rule: &Rule) -> String {
    let branches: Vec<String> = rule
        .transitions
        .iter()
        .map(|transition| {
            let target = target(place, &transition.target);
            format!("{target}{}", conditions(place, transition))
        })
        .collect();
    format!("{} -> {}", plain(event.as_str()), branches.join(" or "))
}

fn target(place: StandingFrame<'_>, target: &Target) -> String {
    let (states, plainly) = resolved(place.machine, place.run, place.path, target);
    let names: Vec<String> = states.iter().map(|state| plain(state.as_str())).collect();
    match target {
        Target::State(_) if plainly => names.concat(),
        Target::State(name) => format!("{} then {}", inside(place, name), names.join(" or ")),
        Target::Return if names.is_empty() => "back".to_owned(),
        Target::Return => format!("back to {}", names.concat()),
        Target::End(_) => "the end".to_owned(),
    }
}

/// Names what runs inside a generated composite state.
fn inside(place: StandingFrame<'_>, name: &StateName) -> String {
    let activity = machine_of(place.machine, place.run, place.path)
        .and_then(|own| own.states.get(name))
        .map(|state| &state.activity);
    match activity {
        Some(Activity::Parallel(Parallel {
            over: Over::Branches(branches),
            ..
        })) => {
            let names: Vec<String> = branches.keys().map(|name| plain(name)).collect();
            format!("branches {}", cut(&names.join("+"), WAY_MAX / 2))
        }
        Some(Activity::Call(call)) => {
            let id = place
                .machine
                .machines
                .get(&call.machine)
                .map_or(&call.machine, |machine| &machine.id);
            format!("machine {}", plain(id.as_str()))
        }
        _ => plain(name.as_str()),
    }
}

fn conditions(place: StandingFrame<'_>, transition: &Transition) -> String {
    let mut parts = Vec::new();
    if !transition.guards.is_empty() {
        let names: Vec<String> = transition.guards.iter().map(guard_name).collect();
        let holds = report::guards_hold(place.machine, place.run, place.path, transition);
        let verb = if holds { "holds" } else { "does not hold yet" };
        parts.push(format!("guard {} {verb}", names.join(", ")));
    }
    if let Some(approval) = &transition.approval {
        let parts_of = match approval.kind {
            ApprovalKind::Person => "a person must approve",
            ApprovalKind::Passkey => "a person must approve with a passkey",
        };
        parts.push(parts_of.to_owned());
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join("; "))
    }
}

/// Number of parts of a composed guard that are named.
const GROUP_MAX: usize = 4;

/// Names a guard: by its own name, else by what it reads.
fn guard_name(guard: &GuardRef) -> String {
    match guard {
        GuardRef::Named(name) => plain(name.as_str()),
        GuardRef::Inline(guard) => match guard.as_ref() {
            Guard::Field(field) => cut(&plain(&format!("on {}", field.field)), 60),
            Guard::Evidence(evidence) => match &evidence.of {
                of @ EvidenceOf::Command { .. } => {
                    let shown = of.command_shown().unwrap_or_default();
                    let beside = evidence.substance_shown();
                    let beside =
                        beside.map_or_else(String::new, |beside| format!(" with {beside}"));
                    cut(&plain(&format!("{shown} seen{beside}")), 100)
                }
                EvidenceOf::Tool { tool, .. } => cut(&plain(&format!("{tool} seen")), 60),
            },
            Guard::All(items) => group("all of", items),
            Guard::Any(items) => group("any of", items),
            Guard::Not(item) => format!("not {}", nested(item)),
            Guard::Output(text) => cut(&plain(&format!("on the output `{text}`")), 60),
            Guard::Code(code) => format!("on code {code}"),
            Guard::Uncancelled => "unless cancelled".to_owned(),
            Guard::Expression(guard) => cut(&plain(&format!("on `{}`", guard.text)), 60),
        },
    }
}

fn group(word: &str, items: &[GuardRef]) -> String {
    let named = items.iter().take(GROUP_MAX).map(nested);
    let mut names: Vec<String> = named.collect();
    if items.len() > GROUP_MAX {
        names.push(format!("{} more", items.len() - GROUP_MAX));
    }
    format!("{word} {}", names.join(", "))
}

/// Names an item of a composed guard without going deeper.
fn nested(guard: &GuardRef) -> String {
    match guard {
        GuardRef::Inline(inner)
            if matches!(**inner, Guard::All(_) | Guard::Any(_) | Guard::Not(_)) =>
        {
            "a composed guard".to_owned()
        }
        other => guard_name(other),
    }
}
