//! The files that `init` writes into a client's settings, and those that `init --remove` leaves.
//!
//! A case is a directory below `tests/install/CLIENT`: the files `before` and `after`, below `project` and `home`. A
//! file `user` selects the person's own settings; with `not_as_before`, something of ours existed before, and `left` is
//! what remains. `INTERLOCK_BLESS=1` writes the results; review them.

mod any;
mod cases;
mod files;
mod hooks;
mod others;
mod place;
