//! What is said of steps, items, calls of machines and ends.

use interlock_core::{
    event::{Cause, Event, RegionOutcome, RegionsStart, SeenCondition},
    machine::{Outcome, Target},
    names::StateName,
};
use serde_json::Value;

/// Says what happened.
pub(super) fn detail(event: &Event) -> String {
    match event {
        Event::EffectStarted { kind, attempt, .. } => {
            let again = if *attempt > 1 {
                format!(", try {attempt}")
            } else {
                String::new()
            };
            format!("{kind}{again}")
        }
        Event::AttemptFailed { attempt, error, .. } => format!("try {attempt}: {}", why(error)),
        Event::EffectSettled { how, by, .. } => format!("{how} by {by}"),
        Event::ActivityEnded { error, key, .. } => match (error, key) {
            (Some(error), _) => why(error),
            (None, Some(key)) => format!("into `{key}`"),
            (None, None) => String::new(),
        },
        Event::VariablesSet { values, by } => {
            let names: Vec<String> = values.keys().map(|name| format!("`{name}`")).collect();
            format!("{} by {by}", names.join(", "))
        }
        Event::MachineAdopted { hash, by, .. } => {
            let short: String = hash.chars().take(12).collect();
            format!("{short} by {by}")
        }
        Event::ItemsListed { items, .. } => format!("{} items", items.len()),
        Event::RegionsStarted { start, .. } => match start {
            RegionsStart::Branches(branches) | RegionsStart::Split(branches) => {
                let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
                names.join(", ")
            }
            RegionsStart::Next(branch) => branch.name.clone(),
            RegionsStart::Items { items, initial, .. } => {
                format!("{} items to {initial}", items.len())
            }
            RegionsStart::Line { index, .. } => format!("number {index}"),
        },
        Event::RegionEnded {
            outcome,
            exits,
            cause,
            ..
        } => {
            let how = region_word(*outcome);
            match (cause, exits.is_empty()) {
                (Some(cause), _) => format!("{how}: {}", why(cause)),
                (None, true) => how.to_owned(),
                (None, false) => {
                    let exits: Vec<&str> = exits.iter().map(StateName::as_str).collect();
                    format!("{how}, leads to {}", exits.join(", "))
                }
            }
        }
        Event::Joined {
            lines,
            outcome,
            failed,
            cause,
            next,
            ..
        } => match (lines.split_first(), cause, next) {
            (Some((first, [])), ..) => format!("{first} goes on"),
            (Some((first, others)), ..) => format!("{first} with {}", others.join(", ")),
            (None, Some(cause), _) => format!("{}: {}", outcome_word(*outcome), why(cause)),
            (None, None, Some(next)) => format!("{}, to {}", outcome_word(*outcome), next.to),
            (None, None, None) if *failed > 0 => {
                format!("{}, {failed} failed", outcome_word(*outcome))
            }
            (None, None, None) => outcome_word(*outcome).to_owned(),
        },
        Event::MachineCalled { shown, .. } => format!("`{shown}`"),
        Event::Noted { code, message, .. } => format!("({code}) {message}"),
        Event::TransitionSelected {
            state,
            conditions,
            more,
            to,
            ..
        } => {
            let left_out = if *more > 0 {
                format!("{more} that do not hold; ")
            } else {
                String::new()
            };
            let seen: Vec<String> = conditions.iter().map(condition).collect();
            format!("{state} -> {}: {left_out}{}", target(to), seen.join("; "))
        }
        Event::RunEnded { outcome, cause } => {
            let word = outcome_word(*outcome);
            cause.as_ref().map_or_else(
                || word.to_owned(),
                |cause| format!("{word}: {}", why(cause)),
            )
        }
        _ => String::new(),
    }
}

/// Returns the word for how a machine, a fork or a run ended.
pub(super) const fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::Failure => "failure",
    }
}

/// Returns the word for how a branch ended.
pub(super) const fn region_word(outcome: RegionOutcome) -> &'static str {
    match outcome {
        RegionOutcome::Succeeded => "succeeded",
        RegionOutcome::Failed => "failed",
        RegionOutcome::Cancelled => "cancelled",
        RegionOutcome::Waiting => "waiting",
        RegionOutcome::Merged => "merged",
    }
}

/// Says what a condition saw and what came of it.
fn condition(seen: &SeenCondition) -> String {
    let word = match seen.holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "cannot be evaluated",
    };
    let values: Vec<String> = seen
        .saw
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let values = if values.is_empty() {
        String::new()
    } else {
        format!(" ({})", values.join(", "))
    };
    format!("`{}` {word}{values}", seen.condition)
}

fn target(to: &Target) -> &str {
    match to {
        Target::State(state) => state.as_str(),
        Target::Return => "where it was",
        Target::End(_) => "the end",
    }
}

/// Says why something failed.
fn why(cause: &Cause) -> String {
    let code = match &cause.code {
        Value::String(code) => code.clone(),
        code => code.to_string(),
    };
    let place = match cause.state.as_str() {
        "" => String::new(),
        state => format!(" at `{state}`"),
    };
    format!("code {code}{place}: {}", cause.message)
}
