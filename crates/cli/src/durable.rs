//! Runs that Interlock carries out itself: started, driven, and what came of them.

mod begin;
mod carry;
mod guard;
mod halted;
mod origin;
mod proceed;
mod screen;
mod signals;
mod variables;

pub(crate) use begin::{begin, of_steps};
pub(crate) use carry::{Terms, carry};
pub(crate) use halted::waits;
pub(crate) use origin::differences;
pub(crate) use proceed::{Wishes, proceed, proceed_as};
