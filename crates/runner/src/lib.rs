//! Carries out what a run asks for.
mod carry;
mod guard;
mod order;
mod output;
mod people;
mod program;
mod screen;
mod slots;
mod surroundings;
mod tools;
pub use output::KeptFiles;
pub use order::{Capture, Order, Outcome, Failed};
pub use program::*;
pub use screen::{Dark, Screen};
