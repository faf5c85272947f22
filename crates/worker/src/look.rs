//! What a run waits for.

use std::time::Duration;

use interlock_core::{command::EffectStatus, effects, machine::Machine, names::RunId, run::Run};
use interlock_project::now_ms;
use interlock_runner::due;
use interlock_shared::SharedRuns;
use interlock_store::{EventLog as _, RunStore as _, StoreError};
use serde::{Deserialize, Serialize};

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
    let set_due = |due| runs.database().set_due(run, folded.seq, due);
    if folded.is_over() || !folded.is_durable() {
        set_due(None)?;
        return Ok(Look::Over);
    }
    let machine = log.machine_of(&folded)?;
    let left = until(&machine, &folded).map_or(0, |until| until.saturating_sub(now_ms()));
    let left = Duration::from_millis(left);
    // If Restate forgets this, the run is woken again some time after it was due.
    set_due(Some(left))?;
    Ok(if left.is_zero() {
        Look::Due {
            epoch: carrier.epoch,
        }
    } else {
        after(left)
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
