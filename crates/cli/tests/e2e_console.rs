//! The console with the real Claude Code: an agent that tries to approve itself, and a person in a real browser.
#![cfg(target_os = "linux")]

mod browser;
mod compare;
mod editor;
mod export;
mod injections;
mod notify;
mod pages;
mod passkeys;
mod real_client;
mod story;

use crate::{
    console::{corpus, page},
    stages::place,
};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
