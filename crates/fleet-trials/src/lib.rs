//! Trials of the fleet: its figures, and its log under faults. Never shipped.
//!
//! The programs are the built ones, and so are PostgreSQL and Restate. `cargo xtask bench fleet` and
//! `cargo xtask nemesis` call it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a trial that cannot go on panics, and says where"
)]

pub mod bench;
pub mod nemesis;

mod api;
#[expect(dead_code, reason = "the tests of the log itself use more of it")]
#[path = "../../shared/tests/shared/cluster.rs"]
mod cluster;
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the tests of the engine use more of it"
)]
#[path = "../../testkit/src/dice.rs"]
mod dice;
mod figures;
mod http;
mod processes;
mod programs;
#[path = "../../worker/tests/worker/proxy.rs"]
mod proxy;
#[expect(dead_code, reason = "the tests of workers use more of it")]
#[path = "../../worker/tests/worker/restate.rs"]
mod restate;
mod site;
mod worker;

pub use programs::Programs;
