//! Outgoing HTTP connections: one way to build a client, and one reader of event streams.
//!
//! This crate knows no provider, no tool and no protocol above HTTP. A proxy from the environment is used for other
//! hosts, never for this machine itself. No redirect is followed unless the caller allows it: a request meant for one
//! server is not sent to another.

use std::error::Error;

mod client;
mod lines;
mod retry_after;
pub mod sse;

pub use client::{Clients, TlsError, client, is_loopback, tls};
pub use lines::{Lines, TooLong};
pub use retry_after::{retry_after, retry_after_ms};

/// Value of the `User-Agent` header.
pub const USER_AGENT: &str = concat!("interlock/", env!("CARGO_PKG_VERSION"));

/// Describes an error with all its causes, without the URL, which may contain a secret.
#[must_use]
pub fn explained(error: reqwest::Error) -> String {
    causes(&error.without_url())
}

/// Describes an error with all its causes.
#[must_use]
pub fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
