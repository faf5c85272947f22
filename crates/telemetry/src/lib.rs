//! A run as OpenTelemetry spans: one for the run, one a visit of a state, one an attempt of a stage, one a call of a
//! model or a tool.
//!
//! Spans are made from the log, which holds everything, after the fact and in a
//! process of their own: no verdict waits for them. Their ids follow from the run
//! and the number of the event that began them, so sending twice is harmless.
//!
//! **Invariant.** Off unless an endpoint is configured; without being asked for
//! it, nothing that an agent or a person wrote leaves the machine.

mod otlp;
mod send;
mod settings;
mod span;
mod spans;

pub use otlp::{Resource, request};
pub use send::{SendError, Sender};
pub use settings::{Settings, SettingsError};
pub use span::{Happened, Moment, Parent, RunLabel, Span, Value};
pub use spans::spans;
