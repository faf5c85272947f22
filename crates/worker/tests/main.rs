//! Workers as processes, with a real PostgreSQL, a real Restate, and a server of the log.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a failed test panics, and one that is left out says so"
)]

#[expect(dead_code, reason = "the tests of the log itself use more of it")]
#[path = "../../shared/tests/shared/api.rs"]
mod api;
#[path = "worker/asked.rs"]
mod asked;
#[path = "../../shared/tests/shared/cluster.rs"]
mod cluster;
#[path = "worker/crew.rs"]
mod crew;
#[path = "worker/lost.rs"]
mod lost;
#[path = "worker/moves.rs"]
mod moves;
#[path = "worker/page.rs"]
mod page;
#[path = "worker/programs.rs"]
mod programs;
#[expect(dead_code, reason = "the tests of the log itself use more of it")]
#[path = "../../shared/tests/shared/provider.rs"]
mod provider;
#[path = "worker/proxy.rs"]
mod proxy;
#[path = "worker/refused.rs"]
mod refused;
#[path = "worker/restate.rs"]
mod restate;
#[path = "worker/runs.rs"]
mod runs;
#[expect(dead_code, reason = "the tests of the log itself use more of it")]
#[path = "../../shared/tests/shared/server.rs"]
mod server;
#[path = "worker/story.rs"]
mod story;
#[expect(dead_code, reason = "the store's own tests use more of it")]
#[path = "../../store/tests/store/world.rs"]
mod world;
