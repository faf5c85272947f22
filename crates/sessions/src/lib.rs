//! Reads recorded sessions of agents as one stream of calls.
//!
//! This crate only reads files: it starts no program, uses no network and judges no call. The clients' formats change without
//! notice, so a record that is not understood is counted and never an error.

mod atif;
mod claude_code;
mod codex;
mod copilot;
mod find;
mod format;
mod gemini;
mod join;
mod json;
mod opencode;
mod otel;
mod own;
mod patch;
mod read;
mod session;
mod time;
mod transcript;

pub use find::{SessionError, client_folder, read_files, recordings};
pub use format::Format;
pub use join::join;
pub use json::one_line;
pub use own::of_events;
pub use read::read;
pub use session::{Call, Ended, Losses, Session};
pub use transcript::Transcript;
