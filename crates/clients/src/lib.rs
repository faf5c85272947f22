//! The agent clients: their hook JSON in, a command; a verdict, their hook JSON out.
//!
//! Decides nothing about a call; every failure of ours ends as a denial.

pub mod claude_code;
mod client;
pub mod doctor;
pub mod hook;
pub mod install;
mod judge;
mod policy;
pub mod process;
mod session;
mod tools;

pub use client::ClientId;
pub use hook::{HookAnswer, HookSetting};
pub use tools::{Tool, control_tool, tool};
