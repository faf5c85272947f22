//! Events of runs of steps, as a person reads them.

use interlock_core::{
    event::{Cause, Event, SeenCondition},
    machine::{Outcome, Target},
};
use serde_json::Value;

/// Tells whether an event is one that only runs of steps have, or says more in them.
pub(super) const fn is_one(event: &Event) -> bool {
    matches!(
        event,
        Event::EffectStarted { .. }
            | Event::AttemptFailed { .. }
            | Event::EffectSettled { .. }
            | Event::ActivityEnded { .. }
            | Event::VariablesSet { .. }
            | Event::MachineAdopted { .. }
            | Event::ItemsListed { .. }
            | Event::ItemStarted { .. }
            | Event::ItemEnded { .. }
            | Event::ItemsEnded { .. }
            | Event::MachineCalled { .. }
            | Event::RunEnded { .. }
            | Event::WayChosen { .. }
            | Event::Noted { .. }
    )
}

/// Says what happened.
pub(super) fn sentence(event: &Event) -> String {
    match event {
        Event::EffectStarted { kind, attempt, .. } => {
            let again = if *attempt > 1 {
                format!(", try {attempt}")
            } else {
                String::new()
            };
            format!("{kind}{again}")
        }
        Event::AttemptFailed { attempt, error, .. } => format!("try {attempt}: {}", told(error)),
        Event::EffectSettled { how, by, .. } => format!("{how} by {by}"),
        Event::ActivityEnded { error, key, .. } => match (error, key) {
            (Some(error), _) => told(error),
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
        Event::ItemStarted { index, .. } => format!("number {index}"),
        Event::ItemEnded { index, cause, .. } => match cause {
            Some(cause) => format!("number {index}: {}", told(cause)),
            None => format!("number {index}"),
        },
        Event::ItemsEnded { failed, cause, .. } => match (failed, cause) {
            (_, Some(cause)) => told(cause),
            (0, None) => String::new(),
            (failed, None) => format!("{failed} failed"),
        },
        Event::MachineCalled { shown, .. } => format!("`{shown}`"),
        Event::Noted { code, message, .. } => format!("({code}) {message}"),
        Event::WayChosen {
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
            let word = match outcome {
                Outcome::Success => "success",
                Outcome::Failure => "failure",
            };
            cause.as_ref().map_or_else(
                || word.to_owned(),
                |cause| format!("{word}: {}", told(cause)),
            )
        }
        _ => String::new(),
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
fn told(cause: &Cause) -> String {
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
