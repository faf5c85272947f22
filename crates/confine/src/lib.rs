//! Turns an allowed shell line into the plan that the kernel enforces.
//!
//! One function, [`plan`], serves every caller: a client's hook, a stage, a person. It combines
//! what the state's policy, the line's facts and the two configurations say.
//! It judges nothing and starts nothing.

mod consoles;
mod context;
mod decided;
mod plan;
mod repository;
mod served;

pub use context::{call_context, call_site, shell_of_person};
pub use decided::{Decided, level};
pub use plan::{AllowedLine, PersonsLine, plan, plan_for_person};
pub use served::file_use;

/// Returns whether the kernel of this machine refuses every write that a reading line may not make.
///
/// Takes two system calls: cheap enough to ask for each line.
#[must_use]
pub fn kernel_holds() -> bool {
    interlock_sandbox::reading_level() >= interlock_sandbox::Level::Files
}
