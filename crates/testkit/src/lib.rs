//! Scripted models and real clients for tests. Never shipped.
//!
//! [`provider`] plays the model, in every protocol: it calls whatever tools a test wants, remembers what came back, and
//! fails in every way in which a provider does.
//! [`room`] is a project, a home and a state directory of one test, away from everything of this machine.
//! [`claude`] runs the real Claude Code in a room against a scripted model, with no way out to any network.
//! [`client`] runs every other real client, and Claude Code too, by one [`proposal::Script`] for all of them.
//! [`interlock`] calls the built `interlock` program in a room, as a person at a terminal would.
//! [`mcp`] plays MCP clients, well-behaved and others; the programs beside it play servers.
//! [`collector`] keeps the spans that are posted to it.
//! [`picture`] tells what changed on the disk.
//! [`sample`] chooses what of a long test is played today.
//! [`dice`] makes what is played by chance, and [`found`] compares what came of it with what came of it before.
//!
//! Nothing here links any other crate of the workspace: what a test sees is what the model, the disk and the programs'
//! own output saw.

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
pub mod terminal;
