//! The agent clients: their hook JSON in, a command; a verdict, their hook JSON out.
//!
//! Decides nothing about a call; every failure of ours ends as a denial.

mod app_server;
pub mod claude_code;
mod client;
mod confine;
pub mod doctor;
mod failed;
pub mod hook;
pub mod install;
mod judge;
mod policy;
pub mod process;
mod rewrite;
mod session;
mod tools;
mod watch;

pub use client::ClientId;
pub use confine::{level, plan_for_person};
pub use hook::{HookAnswer, HookSetting};
pub use tools::{Tool, control_tool, tool};
