//! The console with the real Claude Code: an agent that wants to approve itself, and a person in a real browser.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]
#![expect(
    clippy::indexing_slicing,
    reason = "absent keys of a JSON value are null"
)]

mod browser;
mod compare;
#[path = "../console/corpus.rs"]
mod corpus;
mod editor;
mod export;
mod injections;
mod notify;
#[expect(dead_code, reason = "other tests ask for more")]
#[path = "../console/page.rs"]
mod page;
mod pages;
mod passkeys;
#[expect(dead_code, reason = "other tests ask for more")]
#[path = "../stages/place.rs"]
mod place;
mod real_client;
mod story;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
