//! A run as OpenTelemetry spans: one each for the run, a visit of a state, an attempt of a stage, and a call of a
//! model or a tool. And the sender of log records, for the audit of a team's log.
//!
//! Spans are made from the log, which contains everything, after the fact and in a
//! process of their own: no verdict waits for them. Their ids are derived from the run
//! and the number of the event that started them, so sending them twice is harmless.
//!
//! **Invariant.** Off unless an endpoint is configured; unless explicitly enabled,
//! nothing that an agent or a person wrote leaves the machine.

mod otlp;
mod send;
mod settings;
mod span;
mod spans;

pub use otlp::{LogRecord, Resource, logs_request, request};
pub use send::{SendError, Sender};
pub use settings::{Settings, SettingsError};
pub use span::{Happened, Moment, Parent, RunLabel, Span, Value};
pub use spans::spans;
