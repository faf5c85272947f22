//! A language server for workflow files in all four formats.
//!
//! Messages come in and go out as JSON values: this crate knows no disk, no clock and no thread. What
//! a file is checked with comes in as a function, since it needs the workflows beside the file.

mod answer;
mod complete;
mod cursor;
mod definition;
mod diagnostics;
mod document;
mod framing;
mod hover;
mod message;
mod names;
mod schema;
mod server;
mod symbols;
mod text;
mod uri;

pub use framing::{FramingError, read_message, write_message};
pub use server::{Check, Server};
pub use text::{Position, Text};
pub use uri::path_of;
