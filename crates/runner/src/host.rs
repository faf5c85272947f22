//! What a run is driven with: a clock, a log, and an executor of effects.

use interlock_core::{command::Effect, event::Event, machine::Machine, pending::Pending, run::Run};
use interlock_expr::text::Files;

use crate::{
    order::{Order, Outcome},
    stage::{ChannelAnswer, Question},
};

/// The environment that a run is driven in.
///
/// One implementation starts programs, see [`crate::Embedded`]; another is a simulation. A host belongs to one run, and is its
/// only writer, apart from people who cancel, pause or answer.
pub trait Host {
    /// Why the host cannot continue.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the time, in milliseconds since 1970.
    fn now_ms(&mut self) -> u64;

    /// Folds the log to the run.
    ///
    /// # Errors
    /// The log cannot be read.
    fn load(&mut self) -> Result<Run, Self::Error>;

    /// Reads the events from number `from` on.
    ///
    /// # Errors
    /// The log cannot be read.
    fn events(&mut self, from: u64) -> Result<Vec<Event>, Self::Error>;

    /// Appends `events` if the log has exactly `expected_seq` events.
    ///
    /// # Errors
    /// The log cannot be written: nothing is stored.
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<Appended, Self::Error>;

    /// Returns whether an effect can be carried out here: one that needs a person needs a terminal.
    fn takes(&mut self, order: &Order) -> bool;

    /// Begins to carry out `order`; its end is reported as [`Happening::Ended`].
    fn start(&mut self, order: Order);

    /// Begins to stop the effect `id`; its end is still reported.
    fn stop(&mut self, id: &str);

    /// Begins to ask a person about entering a state or taking a transition; the answer is reported as [`Happening::Said`].
    ///
    /// Returns `false` if nobody is here, and the runner does not wait for people elsewhere.
    fn ask(&mut self, pending: &Pending) -> bool {
        let _ = pending;
        false
    }

    /// Withdraws the request with this id; a person who looks at it learns that it was answered elsewhere.
    fn withdraw(&mut self, id: &str) {
        let _ = id;
    }

    /// Handles events that were appended; `before` is the run without them.
    fn happened(&mut self, machine: &Machine, before: &Run, events: &[Event]) {
        let _ = (machine, before, events);
    }

    /// Handles the state of the run before the runner waits.
    fn stands(&mut self, machine: &Machine, run: &Run, effects: &[Effect]) {
        let _ = (machine, run, effects);
    }

    /// Takes the run as it is when the runner stops, over or waiting for a person.
    fn halted(&mut self, run: Run) {
        let _ = run;
    }

    /// Returns whether the run is given back instead of waiting until `until_ms` here, when it waits for nothing else.
    fn rests(&mut self, until_ms: u64) -> bool {
        let _ = until_ms;
        false
    }

    /// Reads files by absolute path.
    fn read(&mut self, paths: &[String]) -> Files;

    /// Waits until something happens, at the latest until `until_ms`.
    ///
    /// # Errors
    /// The log cannot be read.
    fn next(&mut self, until_ms: Option<u64>) -> Result<Happening, Self::Error>;
}

/// Result of appending events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The events are in the log.
    Kept,
    /// Another writer was first; the log must be read again.
    Conflict,
}

/// What a host reports.
#[derive(Debug, Clone)]
pub enum Happening {
    /// A stage under way asks the run something, or waits for it to continue.
    Asked(Question),
    /// An effect has ended, and nothing of it runs any more.
    Ended {
        /// The effect's id.
        id: String,
        /// Which try.
        attempt: u32,
        /// What became of it.
        outcome: Outcome,
    },
    /// A channel answers a request made by [`Host::ask`].
    Said {
        /// The id of the request.
        id: String,
        /// What it says.
        said: ChannelAnswer,
    },
    /// Cancellation was requested.
    CancelAsked {
        /// Name of whoever did it.
        by: String,
    },
    /// The log has events of another writer.
    LogGrew,
    /// The deadline that was waited for is reached.
    Tick,
}
