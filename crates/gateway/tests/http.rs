//! MCP over HTTP, tested from outside: refusals, the behavior of streams, and every revision end to end.

mod crowd;
mod far_end;
mod refusals;
mod scripted;
mod servers;
mod streams;
mod through;
mod world;
