//! `watch`: shows every run, the open requests and the log of one run, live in a terminal.
//!
//! [`model`] determines how a key or an update changes the screen, and is pure; [`view`] draws it; [`look`] reads the store in
//! another thread; [`screen`] connects them.

mod look;
mod model;
mod screen;
mod view;

pub(crate) use screen::watch;
