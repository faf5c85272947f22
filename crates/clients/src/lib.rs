//! Agent clients: their hook JSON in, a verdict out.
//!
//! One module a client says what its input means and how it wants to be
//! answered; [`hook`] asks the run in between. Decides nothing by itself: what
//! a call may do is the engine's answer, and a failure is a refusal.

mod claude_code;
mod client;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod hook;
mod opencode;
pub mod process;

pub use client::{ClientId, Recognised, Tool, UnknownClient, control_tool, recognise};
pub use hook::{HookAnswer, HookEnv, arguments_digest, hook};
