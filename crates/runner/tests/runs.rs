//! Whole runs: the engine, the log and real programs.

mod built;
mod cancel;
mod carried;
mod crash;
mod flow;
mod many;
mod nodes;
mod other_runs;
mod people;
mod stage_ends;
mod stages;
mod steps;

use crate::support::direct;
