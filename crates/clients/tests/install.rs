//! What `init` writes into a client's settings, and what `init --remove` leaves.
//!
//! A case is a directory below `tests/install/CLIENT`: the files `before` and `after`, below
//! `project` and `home`; with a file `user` in it the person's own settings are meant, with
//! `not_as_before` something of ours was there and `left` is what stays.
//! `INTERLOCK_BLESS=1` writes what comes out; read it.

mod any;
mod cases;
mod files;
mod hooks;
mod others;
mod place;
