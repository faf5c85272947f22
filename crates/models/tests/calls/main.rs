//! Calls over real connections to a provider on 127.0.0.1 that speaks each kind's protocol and fails on demand.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(clippy::indexing_slicing, reason = "a failed test panics")]
#![expect(clippy::panic, reason = "a failed test says what it saw")]

mod conversation;
mod faults;
mod requests;
mod support;
mod values;
