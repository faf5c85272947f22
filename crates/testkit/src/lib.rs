//! Scripted models and real clients for tests. Never shipped.
//!
//! - [`provider`] plays the model in every protocol: it calls the tools that a test wants, records the results, and
//!   fails in every way that a provider can.
//! - [`room`] is a project, a home and a state directory for one test, isolated from this machine.
//! - [`claude`] runs the real Claude Code in a room with a scripted model, without access to any network.
//! - [`client`] runs all real clients, including Claude Code, with the same [`proposal::Script`].
//! - [`interlock`] runs the built `interlock` program in a room, as a person at a terminal does.
//! - [`mcp`] contains MCP clients, well-behaved and others; the programs beside it are servers.
//! - [`collector`] stores the spans that are posted to it.
//! - [`picture`] shows what changed on the disk.
//! - [`sample`] selects the cases of a long test for today.
//! - [`shipped`] names the shipped workflows.
//! - [`dice`] makes random choices reproducible, and [`found`] compares the findings of a test with earlier ones.
//!
//! Nothing here links another crate of the workspace: a test sees only what the model, the disk and the programs' own
//! output see.

pub mod claude;
pub mod client;
pub mod collector;
mod confined;
pub mod dice;
pub mod found;
mod http;
pub mod interlock;
pub mod mcp;
pub mod picture;
pub mod processes;
pub mod programs;
pub mod proposal;
pub mod provider;
pub mod room;
pub mod sample;
mod server;
pub mod shipped;
pub mod terminal;
