//! Whether a workflow of a project permits no more than the bundle's workflow that it stands for.
//!
//! `interlock prove` compares what is permitted step by step. It does not compare everything that a workflow says; what
//! it leaves out has to be equal here. Whatever cannot be compared is refused.

use std::collections::BTreeSet;

use interlock_core::machine::{Activity, FinishRule, Machine, State};
use interlock_formats::Loaded;
use interlock_prove::{By, compare};
use serde_json::Value;

use super::check::load;

/// Maximum number of pairs of states that are compared.
const PAIRS_MAX: usize = 20_000;
/// Rules of a policy that are compared step by step.
const COMPARED: [&str; 4] = [
    "allowed_tools",
    "disallowed_tools",
    "allowed_commands",
    "iterations_max",
];

/// Why a workflow does not stand for another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Looser {
    /// It has errors.
    #[error("{0}")]
    Invalid(String),
    /// It permits more.
    #[error(
        "the workflow permits more than the bundle's: {0}; a project may tighten what the bundle says, and never loosen it"
    )]
    Permits(String),
    /// It cannot be said whether it permits more.
    #[error(
        "it cannot be said whether the workflow permits more than the bundle's: {0}; only what is known to be as strict is started"
    )]
    Unknown(String),
}

/// Checks that the workflow `new` permits nothing that `old` refuses; both are a name and a text.
///
/// # Errors
/// It permits more, or that cannot be said.
pub fn check_stricter(new: (&str, &str), old: (&str, &str)) -> Result<(), Looser> {
    let load = |(name, text)| load(name, text).map_err(Looser::Invalid);
    let (new, old) = (load(new)?, load(old)?);
    if let Some(why) = not_compared(&new, &old) {
        return Err(Looser::Unknown(why));
    }
    let found = compare(&new.machine, &old.machine, By::Steps, PAIRS_MAX, None);
    match (found.permitted, found.doubt) {
        (Some(permitted), _) => Err(Looser::Permits(permitted.what)),
        (None, Some(doubt)) => Err(Looser::Unknown(doubt)),
        (None, None) => Ok(()),
    }
}

/// Names the first thing that differs and is not compared step by step.
fn not_compared(new: &Loaded, old: &Loaded) -> Option<String> {
    let differs = |what: &str| Some(format!("they differ in {what}, which is not compared"));
    if new.upstream_servers != old.upstream_servers {
        return differs("their MCP servers");
    }
    let (new, old) = (&new.machine, &old.machine);
    // An agent that must finish may do less.
    if new.finish != old.finish && new.finish != FinishRule::Required {
        return differs("`finish`");
    }
    if new.id != old.id {
        return differs("their ids");
    }
    if !new.machines.keys().eq(old.machines.keys()) {
        return differs("the machines that they call");
    }
    let others = new.machines.iter().zip(&old.machines);
    let others = others.map(|((_, new), (_, old))| (new, old));
    let all: Vec<(&Machine, &Machine)> = std::iter::once((new, old)).chain(others).collect();
    let whole = all.iter().find_map(|(new, old)| rest_of_machine(new, old));
    whole.or_else(|| {
        let is_alike = all_rests(&all).len() < 2;
        let named = |(new, old): &(&Machine, &Machine)| states(new, old, is_alike);
        all.iter().find_map(named)
    })
}

/// Compares what a machine says besides its states, guards and context.
fn rest_of_machine(new: &Machine, old: &Machine) -> Option<String> {
    let is_same = new.limits == old.limits
        && new.durable == old.durable
        && new.stages == old.stages
        && new.conversation == old.conversation
        && new.agents == old.agents;
    (!is_same).then(|| {
        "they differ in limits of the run or in rules for models, which are not compared".to_owned()
    })
}

/// Returns a value as JSON, without some of its keys.
fn without(value: &impl serde::Serialize, keys: &[&str]) -> String {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
    }
    value.to_string()
}

/// Returns what a state says and what is not compared step by step: limits of edits, the environment and the like.
fn rest(state: &State) -> String {
    // An approval with a passkey is stricter than one without; both are an approval to a comparison of steps.
    let kinds: Vec<String> = state
        .on
        .iter()
        .flat_map(|(event, rule)| rule.transitions.iter().map(move |one| (event, one)))
        .filter_map(|(event, one)| Some(format!("{event} {:?}", one.approval.as_ref()?.kind)))
        .filter(|kind| kind.ends_with("Passkey"))
        .collect();
    let activity = match state.activity {
        // Compared step by step, with what they lead to.
        Activity::Final { .. } | Activity::Choice | Activity::Call(_) | Activity::Parallel(_) => {
            None
        }
        _ => Some(&state.activity),
    };
    let policy = without(&state.policy, &COMPARED);
    let keys = ["policy", "on", "instructions", "activity", "safe_next"];
    let other = without(state, &keys);
    let activity = without(&activity, &[]);
    format!("{policy} {other} {activity} {kinds:?}")
}

fn all_rests(all: &[(&Machine, &Machine)]) -> BTreeSet<String> {
    let machines = all.iter().flat_map(|(new, old)| [new, old]);
    let states = machines.flat_map(|machine| machine.states.values());
    // The machine is over there, and nothing is done.
    let states = states.filter(|state| !matches!(state.activity, Activity::Final { .. }));
    states.map(rest).collect()
}

/// Compares states by their names. If all states have the same rules that are not compared, it does not matter in which
/// one the other version is; otherwise, both have to be in the state of the same name after the same steps.
fn states(new: &Machine, old: &Machine, is_alike: bool) -> Option<String> {
    if is_alike {
        return None;
    }
    if new.initial != old.initial || new.interrupts != old.interrupts {
        return Some("they begin in another state or have other interrupts, while their states differ in rules that are not compared".to_owned());
    }
    new.states.iter().find_map(|(name, state)| {
        let Some(other) = old.states.get(name) else {
            return Some(format!(
                "only one has the state `{name}`, while their states differ in rules that are not compared"
            ));
        };
        if rest(state) != rest(other) {
            return Some(format!(
                "`{name}` differs in limits of edits, files or results, in the environment, in passkeys or in its activity, which are not compared"
            ));
        }
        if !leads_alike(state, other, new.guards == old.guards) {
            return Some(format!(
                "`{name}` leads to other states, while their states differ in rules that are not compared"
            ));
        }
        None
    })
}

/// Returns whether each event of `new` leads to one state only, and to the same one as in `old`; or its rule is the same.
fn leads_alike(new: &State, old: &State, has_same_guards: bool) -> bool {
    let activity = |state: &State| serde_json::to_string(&state.activity).unwrap_or_default();
    if new.safe_next != old.safe_next || activity(new) != activity(old) {
        return false;
    }
    new.on.iter().all(|(event, rule)| {
        let Some(other) = old.on.get(event) else {
            // What is not written in the old one is newly permitted, which the comparison finds.
            return true;
        };
        let targets = rule.transitions.iter().chain(&other.transitions);
        let mut targets = targets.map(|transition| &transition.target);
        let first = targets.next();
        (rule == other && has_same_guards) || targets.all(|target| Some(target) == first)
    })
}

#[cfg(test)]
mod tests;
