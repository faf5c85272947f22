//! `watch`: every run, what waits for a person and the log of one run, live in a terminal.
//!
//! [`model`] says what a key or a new look at the runs makes of the screen, and is
//! pure; [`view`] draws it; [`look`] reads the store beside it; [`screen`] joins them.

mod look;
mod model;
mod screen;
mod view;

pub(crate) use screen::watch;
