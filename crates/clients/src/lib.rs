//! The agent clients: hook JSON in, a command; a verdict, hook JSON out.
//!
//! This crate decides nothing about a call; every failure of Interlock ends as a denial.

mod answer;
mod app_server;
mod calls;
mod claude_code;
mod client;
mod codex;
mod copilot;
mod cursor;
pub mod doctor;
mod duplicate_hook;
mod failed;
mod finish;
mod gemini;
mod guard_marker;
pub mod guarded;
pub mod hook;
pub mod input;
pub mod install;
mod judge;
mod line;
mod mods;
pub mod notify;
pub mod opencode;
pub mod plugins;
mod policy;
pub mod process;
mod prompts;
mod protocol;
mod recorded;
mod registry;
pub mod repository;
pub mod review;
mod rewrite;
mod running;
mod served;
mod session;
mod settings;
pub mod token;
pub mod tools;
mod watch;

pub use client::ClientId;
pub use guard_marker::forget_markers;
pub use hook::HookAnswer;
pub use policy::{policy_fault, policy_machine, start_policy};
pub use recorded::recorded_exit;
pub use registry::{failure_stops, read};
pub use session::{GUARD, LivingSession, call_context, living_sessions};
pub use tools::{PlainCall, Tool, control_tool, plain_call, tool};
pub use watch::Watched;
