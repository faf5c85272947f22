//! Outward connections over HTTP: one way to make a client, and one reader of what servers stream.
//!
//! Knows no provider, no tool and no protocol above HTTP. A proxy of the environment stands between this machine and
//! others, never between this machine and itself. No redirect is followed unless the caller says so: what was meant
//! for one server is not sent to another.

use std::error::Error;

mod client;
mod lines;
mod retry_after;
pub mod sse;

pub use client::{Clients, TlsError, client, is_loopback, tls};
pub use lines::{Lines, TooLong};
pub use retry_after::{retry_after, retry_after_ms};

/// What this program calls itself.
pub const USER_AGENT: &str = concat!("interlock/", env!("CARGO_PKG_VERSION"));

/// Says what went wrong on the way, with every cause, without the address: that may hold a secret.
#[must_use]
pub fn explained(error: reqwest::Error) -> String {
    causes(&error.without_url())
}

/// Says what went wrong with every cause behind it.
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
