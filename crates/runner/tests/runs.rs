//! Whole runs: the engine, the log and real programs.

mod built;
mod cancel;
mod crash;
mod flow;
mod many;
mod nodes;
mod people;
mod stages;
mod steps;

use crate::support::direct;
