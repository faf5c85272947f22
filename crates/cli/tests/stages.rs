//! Pipelines through the built program: scripted providers, real tools, a real project.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

#[path = "stages/budget.rs"]
mod budget;
#[path = "stages/crash.rs"]
mod crash;
#[path = "stages/grants.rs"]
mod grants;
#[path = "stages/interrupted.rs"]
mod interrupted;
#[path = "stages/items.rs"]
mod items;
#[path = "stages/native.rs"]
mod native;
#[path = "stages/people.rs"]
mod people;
#[path = "stages/place.rs"]
mod place;
#[path = "stages/races.rs"]
mod races;
#[path = "stages/read.rs"]
mod read;
#[path = "stages/servers.rs"]
mod servers;
#[path = "stages/shown.rs"]
mod shown;
#[path = "stages/starts.rs"]
mod starts;
#[path = "stages/sweep.rs"]
mod sweep;
#[path = "stages/trace.rs"]
mod trace;
