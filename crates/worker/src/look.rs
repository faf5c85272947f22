//! What a run waits for.

use std::time::Duration;

use interlock_core::{
    command::EffectStatus,
    effects,
    machine::Machine,
    names::RunId,
    run::Run,
};
use interlock_project::now_ms;
use interlock_runner::due;
use interlock_shared::SharedRuns;
use interlock_store::{EventLog as _, RunStore as _, StoreError};
use serde::{Deserialize, Serialize};

use crate::next::Next;

/// Added to a wait, so that it is over when it is looked at again.
const AFTER: Duration = Duration::from_millis(20);

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Look {
    /// Nothing: it is over, or none that a worker carries.
    Over,
    /// It is to be carried.
    Due {
        /// The epoch of the last carrier.
        epoch: u64,
    },
    /// It is due after so many milliseconds.
    After {
        /// The milliseconds.
        ms: u64,
    },
}

/// Looks at a run that is to be woken.
pub(crate) fn look(runs: &SharedRuns, run: &RunId) -> Result<Look, StoreError> {
    let carrier = runs.database().carrier(run)?;
    if let Some(left) = carrier.left {
        return Ok(after(left));
    }
    let log = runs.open_run(run)?;
    let folded = log.load()?;
    if folded.is_over() || !folded.is_durable() {
        return Ok(Look::Over);
    }
    let machine = log.machine_of(&folded)?;
    let now = now_ms();
    Ok(match until(&machine, &folded) {
        Some(until) if until > now => after(Duration::from_millis(until - now)),
        _ => Look::Due {
            epoch: carrier.epoch,
        },
    })
}

fn after(left: Duration) -> Look {
    let ms = u64::try_from((left + AFTER).as_millis()).unwrap_or(u64::MAX);
    Look::After { ms }
}

/// Returns until when a run only waits; `None`: it has something to do, or waits for no time.
fn until(machine: &Machine, run: &Run) -> Option<u64> {
    let effects = effects(machine, run);
    let is_open =
        |status: &EffectStatus| matches!(status, EffectStatus::Running | EffectStatus::Reading(_));
    if effects.iter().any(|effect| is_open(&effect.status)) {
        return None;
    }
    effects.iter().filter_map(due).min()
}

/// Returns what follows for a run that its carrier has left standing.
pub(crate) fn next_of(machine: &Machine, run: &Run) -> Next {
    if run.is_over() {
        return Next::Over;
    }
    let effects = effects(machine, run);
    if effects.iter().filter_map(due).min().is_some() {
        Next::Time
    } else {
        Next::Person
    }
}
