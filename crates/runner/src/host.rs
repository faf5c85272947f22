//! What a run is driven over: a clock, a log, and something that carries effects out.

use interlock_core::{command::Effect, event::Event, machine::Machine, pending::Pending, run::Run};
use interlock_expr::text::Files;

use crate::{
    order::{Order, Outcome},
    stage::{ChannelAnswer, Question},
};

/// The environment that a run is driven in.
///
/// One implementation starts programs, see [`crate::Embedded`]; a simulation is
/// another. A host belongs to one run, and is its only writer but for people
/// who cancel, pause or answer.
pub trait Host {
    /// Why the host cannot go on.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the time, in milliseconds since 1970.
    fn now_ms(&mut self) -> u64;

    /// Folds the log to the run it stands for.
    ///
    /// # Errors
    /// The log cannot be read.
    fn load(&mut self) -> Result<Run, Self::Error>;

    /// Reads the events from number `from` on.
    ///
    /// # Errors
    /// The log cannot be read.
    fn events(&mut self, from: u64) -> Result<Vec<Event>, Self::Error>;

    /// Appends `events` when the log has exactly `expected_seq` of them.
    ///
    /// # Errors
    /// The log cannot be written: nothing is kept.
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<Appended, Self::Error>;

    /// Tells whether an effect can be carried out here: one that needs a person needs a terminal.
    fn takes(&mut self, order: &Order) -> bool;

    /// Begins to carry `order` out; its end comes as [`Happening::Ended`].
    fn start(&mut self, order: Order);

    /// Begins to end what was started for the effect `id`; its end comes all the same.
    fn stop(&mut self, id: &str);

    /// Begins to ask a person whether a state may begin, or a transition may be taken; what they say comes as
    /// [`Happening::Said`].
    ///
    /// `false`: nobody is here, and whoever is elsewhere is not waited for.
    fn ask(&mut self, pending: &Pending) -> bool {
        let _ = pending;
        false
    }

    /// Takes back what was asked under this id; whoever looks at it is told that it was answered elsewhere.
    fn withdraw(&mut self, id: &str) {
        let _ = id;
    }

    /// Is told of events that were appended; `before` is the run without them.
    fn happened(&mut self, machine: &Machine, before: &Run, events: &[Event]) {
        let _ = (machine, before, events);
    }

    /// Is told where the run stands, before something is waited for.
    fn stands(&mut self, machine: &Machine, run: &Run, effects: &[Effect]) {
        let _ = (machine, run, effects);
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
