//! MCP over HTTP, seen from outside: what is refused, how streams behave, and every revision from end to end.

mod crowd;
mod far_end;
mod refusals;
mod scripted;
mod servers;
mod streams;
mod through;
mod world;
