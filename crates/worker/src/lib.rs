//! Carries the durable runs of a shared log on this machine, as one of several, placed by Restate.
//!
//! ```text
//! shared log ─ outbox ─▶ Restate ─ wake, carry ─▶ object ─ claim ─▶ carry: Embedded in a thread of its own
//!      ▲                                                              │
//!      └──────────── events under the epoch, lease, outbox ◀──────────┘
//! ```
//!
//! Restate says when a run is due and which process is asked to carry it. The shared log says who carries it: a claim
//! takes an epoch and a lease, and events of an older epoch are not recorded. A handler never runs a program: it
//! starts the carrier, and suspends until the outbox tells it what follows.
//!
//! **Invariant.** What Restate repeats, delays or forgets changes no run twice. Before its lease ends, by the clock of this
//! machine alone, a carrier has ended everything that it has started.

mod begin;
mod carry;
mod error;
mod lease;
mod listen;
mod look;
mod next;
mod note;
mod object;
mod outbox;
mod projects;
mod restate;
mod settings;
mod shared;
mod ticks;
mod worker;
mod workspace;

pub use error::WorkerError;
pub use next::Next;
pub use note::Note;
pub use projects::Projects;
pub use restate::register;
pub use settings::{LEASE_MAX, LEASE_MIN, SLOTS_MAX, WORKSPACE_MAX, WorkerSettings};
pub use worker::{Stopper, work};
