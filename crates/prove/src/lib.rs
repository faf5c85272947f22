//! A workflow against every run that it could have.
//!
//! The engine itself is asked: each step of the graph is a call of the real
//! `decide` and `evolve` on a real run, and two runs are one state of the
//! graph where nothing that any rule reads tells them apart. What is left out
//! or taken too widely is said with the verdict.

mod abstraction;
mod against;
mod aging;
mod alike;
mod atlas;
mod build;
mod calls;
mod cells;
mod check;
mod classes;
mod doubts;
mod explore;
mod facts;
mod graph;
mod hash;
mod key;
mod machine;
mod model;
mod monitor;
mod moves;
mod paths;
mod perform;
mod reach;
mod replay;
mod rows;
mod sound;
mod states;
mod substance;
mod table;
mod verdict;
mod views;

pub use abstraction::{AbstractState, Abstraction, FreeAct, FreeMove};
pub use against::{By, Comparison, Permission, compare};
pub use check::{Proof, ProofOptions, prove};
pub use hash::{Fast, Map, Set};
pub use replay::{TraceStep, written_steps};
pub use verdict::{Finding, PlayedRun, Verdict};

#[cfg(test)]
mod tests;
