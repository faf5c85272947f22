//! Calls of language models: one transcript and one answer type for every provider.
//!
//! [`Client::call`] sends a [`Request`] to a [`Provider`] and returns its complete [`Answer`]. It blocks; progress is reported
//! through [`Heard`], another thread can cancel through [`Cancel`](interlock_process::Cancel), and time is provided by a
//! [`Clock`].
//!
//! This crate knows no run, no policy and no file: the meaning of a call is determined elsewhere.

mod answer;
mod client;
mod clock;
mod error;
mod options;
mod price;
mod provider;
mod reading;
mod refusal;
mod retry;
mod send;
mod transcript;
mod wire;

pub use answer::{Answer, FinishReason, Heard, Usage};
pub use client::Client;
pub use clock::{Clock, SystemClock, Waited};
pub use error::{Code, Failure, ModelError};
pub use options::{Options, Thinking, UnknownThinking};
pub use price::{BadPrice, Price, Rate};
pub use provider::{BadProvider, Key, Kind, Provider};
pub use retry::{Jitter, RetryPolicy};
pub use transcript::{Call, Message, Opaque, Part, Request, ToolResult, ToolSpec};
