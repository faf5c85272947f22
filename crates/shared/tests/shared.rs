//! A shared log on a real PostgreSQL: every test of the store, and faults that only a database can have.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a failed test panics, and one that is left out says so"
)]

#[path = "shared/api.rs"]
mod api;
#[path = "shared/appends.rs"]
mod appends;
#[path = "shared/audit_page.rs"]
mod audit_page;
#[path = "shared/audited.rs"]
mod audited;
#[path = "shared/audited_people.rs"]
mod audited_people;
#[path = "shared/browser.rs"]
mod browser;
#[path = "shared/bundle_machines.rs"]
mod bundle_machines;
#[path = "shared/bundles.rs"]
mod bundles;
#[path = "shared/carried.rs"]
mod carried;
#[path = "shared/carriers.rs"]
mod carriers;
#[path = "shared/certificates.rs"]
mod certificates;
#[path = "shared/cluster.rs"]
mod cluster;
#[path = "shared/forged.rs"]
mod forged;
#[path = "shared/forwarded.rs"]
mod forwarded;
#[path = "shared/isolation.rs"]
mod isolation;
#[path = "shared/joined.rs"]
mod joined;
#[path = "shared/keys.rs"]
mod keys;
#[path = "shared/killed.rs"]
mod killed;
#[path = "shared/people.rs"]
mod people;
#[path = "shared/people_page.rs"]
mod people_page;
#[path = "shared/program.rs"]
mod program;
#[path = "shared/programs.rs"]
mod programs;
#[path = "shared/provider.rs"]
mod provider;
#[path = "shared/serve.rs"]
mod serve;
#[path = "shared/serve_killed.rs"]
mod serve_killed;
#[path = "shared/serve_refused.rs"]
mod serve_refused;
#[path = "shared/server.rs"]
mod server;
#[path = "shared/sign_in.rs"]
mod sign_in;
#[path = "../../store/tests/store/suite.rs"]
mod suite;
#[path = "shared/team_api.rs"]
mod team_api;
#[path = "shared/team_page.rs"]
mod team_page;
#[path = "shared/trouble.rs"]
mod trouble;
#[expect(dead_code, reason = "the store's own tests use more of it")]
#[path = "../../store/tests/store/world.rs"]
mod world;

mod stores {
    crate::suite::stores! {
        postgres: crate::server::world(),
    }
}
