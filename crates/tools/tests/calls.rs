//! Tool calls that cannot be described by files and answers alone: servers, threads, generated texts.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "support/room.rs"]
mod room;

#[path = "calls/arguments.rs"]
mod arguments;
#[path = "calls/http.rs"]
mod http;
#[path = "calls/line.rs"]
mod line;
#[path = "calls/odd_files.rs"]
mod odd_files;
#[path = "calls/properties.rs"]
mod properties;
#[path = "calls/summary.rs"]
mod summary;
