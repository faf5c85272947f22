//! The real Claude Code, guarded by the built `interlock`, with a scripted model.
//!
//! Every test runs with both versions that `cargo xtask setup` installs. Only Interlock can stop a call here, because
//! sessions bypass the client's own permissions.

mod broken;
mod guarded;
mod judged;
mod skills;
