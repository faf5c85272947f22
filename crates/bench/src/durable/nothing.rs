//! A host whose effects do nothing, so that only the engine, the driver and the log are measured.

use std::{
    collections::VecDeque,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::{event::Event, run::Run};
use interlock_expr::text::Files;
use interlock_runner::{Appended, Failed, Happening, Host, Order, Outcome};
use interlock_store::{AppendError, EventLog as _, RunLog, StoreError};

/// Why the host stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// The log failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The last step was reached, and the run is to be abandoned there.
    #[error("the run is left")]
    Left,
    /// No effect is running.
    #[error("nothing is under way")]
    Idle,
}

/// Executes a run without doing anything.
pub(crate) struct Nothing {
    log: RunLog,
    /// Number of steps that succeed; the one after them fails, so that the run enters its last state.
    steps: u64,
    is_left: bool,
    done: u64,
    ended: VecDeque<(String, u32, Outcome)>,
}

impl Nothing {
    pub(crate) fn of(log: RunLog, steps: u64, is_left: bool) -> Self {
        Self {
            log,
            steps,
            is_left,
            done: 0,
            ended: VecDeque::new(),
        }
    }

    /// Returns the number of executed effects.
    pub(crate) const fn done(&self) -> u64 {
        self.done
    }

    pub(crate) const fn log(&mut self) -> &mut RunLog {
        &mut self.log
    }
}

impl Host for Nothing {
    type Error = Stopped;

    fn now_ms(&mut self) -> u64 {
        now_ms()
    }

    fn load(&mut self) -> Result<Run, Stopped> {
        Ok(self.log.load()?)
    }

    fn events(&mut self, from: u64) -> Result<Vec<Event>, Stopped> {
        let events = self.log.events(from).map(|recorded| Ok(recorded?.event));
        events.collect()
    }

    fn append(&mut self, seq: u64, at_ms: u64, events: &[Event]) -> Result<Appended, Stopped> {
        match self.log.append(seq, at_ms, events) {
            Ok(()) => Ok(Appended::Kept),
            Err(AppendError::Conflict { .. }) => Ok(Appended::Conflict),
            Err(AppendError::Store(error)) => Err(error.into()),
        }
    }

    fn takes(&mut self, _: &Order) -> bool {
        true
    }

    fn start(&mut self, order: Order) {
        let outcome = if self.done == self.steps {
            Outcome::Failed(Failed::new(1, "enough"))
        } else {
            Outcome::Done {
                stdout: String::new(),
                stderr: String::new(),
            }
        };
        self.done += 1;
        self.ended.push_back((order.id, order.attempt, outcome));
    }

    fn stop(&mut self, _: &str) {}

    fn read(&mut self, _: &[String]) -> Files {
        Files::new()
    }

    fn next(&mut self, _: Option<u64>) -> Result<Happening, Stopped> {
        if self.is_left && self.done > self.steps {
            return Err(Stopped::Left);
        }
        let (id, attempt, outcome) = self.ended.pop_front().ok_or(Stopped::Idle)?;
        Ok(Happening::Ended {
            id,
            attempt,
            outcome,
        })
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}
