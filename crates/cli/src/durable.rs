//! Durable runs: starting, driving and reporting them.

mod begin;
mod cancel;
mod carry;
mod conversation_input;
mod guard;
mod inputs;
mod proceed;
mod screen;
mod signals;
mod trust;
mod variables;
mod world;

pub(crate) use begin::{begin, of_steps};
pub(crate) use cancel::cancel;
pub(crate) use carry::{Terms, carry};
pub(crate) use inputs::text_of;
pub(crate) use proceed::{Wishes, proceed, proceed_as};
