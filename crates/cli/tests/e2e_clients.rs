//! The real clients, guarded by the built `interlock`, each with a scripted model.
//!
//! `interlock init` writes the hooks, as for a person. Only Interlock can stop a call here, because the clients ask
//! nobody.

mod broken_hooks;
mod guarded;
mod handed_on;
mod overrulers;
pub(crate) mod page;
mod sandboxed;
mod sessions;
mod tools;
mod verdicts;
