//! Runs that Interlock carries out itself: started, driven, and what came of them.

mod attempts;
mod begin;
mod cancel;
mod carry;
mod describe;
mod guard;
mod halted;
mod inputs;
mod models;
mod nodes;
mod opening;
mod origin;
mod proceed;
mod screen;
mod servers;
mod signals;
mod stages;
mod trust;
mod variables;

pub(crate) use attempts::{attempts, sentence as attempt_sentence};
pub(crate) use begin::{begin, of_steps};
pub(crate) use cancel::cancel;
pub(crate) use carry::{Terms, carry};
pub(crate) use describe::describe;
pub(crate) use halted::{Wait, waits};
pub(crate) use inputs::text_of;
pub(crate) use proceed::{Wishes, proceed, proceed_as};
pub(crate) use stages::stands_in_stage;
