//! Carries out what a run asks for.
mod program;
pub use program::*;
