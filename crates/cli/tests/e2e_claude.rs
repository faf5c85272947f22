//! The real Claude Code, guarded by the built `interlock`, against a scripted model.
//!
//! Every test runs with both versions that `cargo xtask setup` installs. Nothing but Interlock stops a call here:
//! sessions bypass the client's own permissions.

mod broken;
mod guarded;
mod judged;
mod skills;
