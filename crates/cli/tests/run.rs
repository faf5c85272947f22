//! `interlock run` and the commands that follow it, through the built program.

mod crash;
mod ends;
mod moved;
mod people;
mod pinned;
mod place;
mod shown;
mod started;
