//! A language server for workflow files in all four formats.
//!
//! Messages come in and go out as JSON values: this crate knows no disk, no clock and no thread. Files are
//! checked by the owner of the server, concurrently with requests, because a check needs the workflows next to the file.

mod answer;
mod complete;
mod cursor;
mod definition;
mod diagnostics;
mod document;
mod framing;
mod hover;
mod job;
mod message;
mod names;
mod schema;
mod server;
mod symbols;
mod text;
mod uri;

pub use framing::{FramingError, read_message, write_message};
pub use job::{Checked, Job};
pub use server::Server;
pub use text::{Position, Text};
pub use uri::path_of;
