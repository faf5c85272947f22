//! What an approval means, in lines for people, with what has changed since the run began.
//!
//! INVARIANT: text that an agent may have written is shown by [`visible`](interlock_core::visible::visible()): nothing of
//! it reaches a terminal as a command, and none of it can look like a line of Interlock.

mod changes;

use interlock_core::{machine::Machine, pending::Pending, run::Run};
use interlock_store::{EventLog as _, RunLog};

pub use changes::{Changes, since_start};
pub use interlock_view::review::{Row, age, headline};

/// Describes what an approval of a request means.
///
/// `log` contains when evidence was observed, and for which line.
#[must_use]
pub fn rows(
    machine: &Machine,
    run: &Run,
    log: Option<&RunLog>,
    pending: &Pending,
    now_ms: u64,
) -> Vec<Row> {
    let of_log = |seq| {
        let recorded = log?.events(seq).next()?.ok()?;
        Some((recorded.event, recorded.at_ms))
    };
    interlock_view::review::rows(machine, run, &of_log, pending, now_ms)
}
