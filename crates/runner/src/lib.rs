//! Carries out the effects of a run: programs, agents, questions, waits.
//!
//! This crate decides nothing: the engine determines what to do, and each outcome goes back to it as a command.
//!
//! ```text
//! effects ─▶ drive ─▶ Host::start ─▶ tools: arguments to argv ─▶ program: group, pipes, time
//!    ▲                                                               │
//!    └──── log ◀── decide ◀── Host::next ◀── outcome ◀── output: kept, captured, shown
//! ```
//!
//! **Invariant.** One runner per run; a program starts only after its start is in the log; when its end is reported, no part of
//! the program is running any more.

mod build;
mod build_error;
mod carry;
mod codemie;
mod drive;
mod embedded;
mod guard;
mod host;
mod lease;
pub mod mcp;
mod nodes;
mod order;
mod output;
mod people;
mod resume;
mod run_config;
mod run_context;
mod screen;
mod slots;
mod stage;
mod tools;

pub use build::{Approvals, Builder};
pub use build_error::BuildError;
pub use codemie::look_up;
pub use drive::{DriveError, Halt, command, drive, due, lose_effects};
pub use embedded::{Abandoned, Abandoner, Canceller, CarriedTerms, Embedded, EmbeddedError};
pub use guard::{Guard, GuardWanted, Guarded};
pub use host::{Appended, Happening, Host};
pub use lease::{Before, Holder, Lease, LeaseError, holder};
pub use nodes::{Configured, Nodes, NotStarted, ServerRequest};
pub use order::{Capture, Failed, NodeOrder, Order, Outcome};
pub use output::KeptFiles;
pub use resume::{Resumed, answer, resume_pause};
pub use run_config::RunConfig;
pub use run_context::RunContext;
pub use screen::{NullScreen, Piece, Screen};
pub use slots::Slots;
pub use stage::{
    Answers, Channel, ChannelAnswer, Heard as StageHeard, KeptAnswer, KeptResult, Model, Models,
    Open, People, PersonRequest, Question as StageQuestion, Served, ServedEnd, Servers, StageOrder,
    Stages, Standing, TerminalPrompt, Transcript, Tries,
};
pub use tools::Question;
