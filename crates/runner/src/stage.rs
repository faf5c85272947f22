//! Model stages: a model, its calls, and the people who are asked about them.
//!
//! This module decides nothing: [`interlock_core::stage::step`] determines the next step, and each outcome goes back as a
//! command. Only the loop that drives the run writes to its log; a stage sends requests to it over a
//! [`StageLink`](line::StageLink).
//!
//! **Invariant.** The messages of a model, and the replies to it, are stored next to the log before an event names them; so an
//! interrupted attempt continues with the same transcript, and no model is called again for an answer that it has given.

mod act;
mod calls;
mod cancel;
mod channel;
mod kept;
mod line;
mod messages;
mod models;
mod person;
mod place;
mod sending;
mod servers;
mod terminal_prompt;
mod texts;
mod transcript;

pub use channel::{Answers, Channel, ChannelAnswer, Open, PersonRequest};
pub use kept::{KeptAnswer, KeptResult};
pub use line::{Heard, Question, StageOrder, Standing};
pub use models::{Model, Models, Tries};
pub use place::{People, Stages};
pub use servers::{Served, ServedEnd, Servers};
pub use terminal_prompt::TerminalPrompt;
pub use transcript::Transcript;

pub(crate) use act::act;
pub(crate) use calls::unknown;
pub(crate) use cancel::CancelToken;
pub(crate) use channel::PersonRequest as WantedWord;
pub(crate) use kept::{keep, read};
pub(crate) use line::Outbox;
pub(crate) use messages::{finish, sha256};
pub(crate) use models::usage;
pub(crate) use person::{answered, elsewhere, wanted};
pub(crate) use sending::CONFLICT;
pub(crate) use transcript::concerns;
