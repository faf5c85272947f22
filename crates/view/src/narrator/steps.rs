//! What is said of steps, items, calls of machines and ends.

use interlock_core::{
    event::{BranchOutcome, Cause, Event, SeenCondition},
    machine::{Outcome, Target},
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
        Event::ItemStarted { index, .. } => format!("number {index}"),
        Event::ItemEnded { index, cause, .. } => match cause {
            Some(cause) => format!("number {index}: {}", why(cause)),
            None => format!("number {index}"),
        },
        Event::ItemsEnded { failed, cause, .. } => match (failed, cause) {
            (_, Some(cause)) => why(cause),
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
pub(super) const fn branch_word(outcome: BranchOutcome) -> &'static str {
    match outcome {
        BranchOutcome::Succeeded => "succeeded",
        BranchOutcome::Failed => "failed",
        BranchOutcome::Cancelled => "cancelled",
        BranchOutcome::Waiting => "waiting",
        BranchOutcome::Merged => "merged",
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
