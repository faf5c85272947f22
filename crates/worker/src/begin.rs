//! Claims a run for this worker, and begins to carry it.

use std::{sync::Arc, thread, time::Duration};

use interlock_core::names::RunId;
use interlock_shared::{Claim, Claimed, SharedError};
use serde::{Deserialize, Serialize};

use crate::{
    carry::{Term, carry},
    lease::Held,
    shared::Shared,
    ticks::ticks,
};

/// Stack size of a thread that carries a run: it parses schemas and decides.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// The answer to a request to carry a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Begun {
    /// It is carried, and the awakeable is told when that has ended.
    Carried,
    /// Somebody else carries it, for so many milliseconds yet.
    Held {
        /// The milliseconds.
        ms: u64,
    },
    /// It has had another carrier since.
    Stale,
    /// Too many runs are carried here.
    NoSlot,
}

/// Claims a run whose last carrier had `epoch`, and begins to carry it in a thread of its own.
pub(crate) fn begin(
    shared: &Arc<Shared>,
    run: &RunId,
    epoch: u64,
    awakeable: String,
) -> Result<Begun, SharedError> {
    let Some(held) = shared.leases.reserve(run) else {
        // It is tried again, and not forgotten meanwhile.
        let seq = shared.database().carrier(run)?.seq;
        shared.database().set_due(run, seq, Some(Duration::ZERO))?;
        return Ok(Begun::NoSlot);
    };
    // Taken before the request: the lease lasts at least so long.
    let at = ticks();
    let claim = Claim {
        holder: shared.holder.clone(),
        epoch,
        awakeable,
        lease: shared.leases.lease(),
    };
    match shared.database().claim(run, &claim)? {
        Claimed::Taken {
            epoch,
            is_interrupted,
        } => {
            held.begin(epoch, at);
            let term = Term {
                epoch,
                is_interrupted,
            };
            start(shared, run, held, term)?;
            Ok(Begun::Carried)
        }
        Claimed::Already => Ok(Begun::Carried),
        Claimed::Held { left } => Ok(Begun::Held {
            ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        }),
        Claimed::Stale => Ok(Begun::Stale),
    }
}

fn start(shared: &Arc<Shared>, run: &RunId, held: Held, term: Term) -> Result<(), SharedError> {
    let (carrying, id) = (Arc::clone(shared), run.clone());
    let started = thread::Builder::new()
        .name("carry".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || carry(&carrying, &id, held, term));
    // The lease ends by itself, and another carrier says that effects were interrupted.
    started.map(drop).map_err(|error| SharedError::Failed {
        place: shared.database().place().to_owned(),
        what: format!("no thread for a run: {error}"),
    })
}
