//! The real Claude Code, guarded by the built `interlock`, against a scripted model.
//!
//! Every test runs with both versions that `cargo xtask setup` installs. Nothing but Interlock stops a call here:
//! sessions bypass the client's own permissions.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]
#![expect(clippy::panic, reason = "a test may end at the first surprise")]
#![expect(
    clippy::indexing_slicing,
    reason = "absent keys of a JSON value are null"
)]

mod broken;
mod guarded;
mod judged;
mod skills;
