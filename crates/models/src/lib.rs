//! Calls of language models: one transcript and one answer, whatever the provider speaks.
//!
//! [`Client::call`] sends a [`Request`] to a [`Provider`] and returns its whole
//! [`Answer`]. It blocks; text is told on the way through [`Heard`], another
//! thread gives it up through [`Cancel`](interlock_process::Cancel), and time comes in through [`Clock`].
//!
//! Knows no run, no policy and no file: what a call means is decided elsewhere.

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
