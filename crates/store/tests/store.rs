//! The store on real files: what it stores, what it refuses, and what it survives.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a failed test panics"
)]
#![expect(
    clippy::type_complexity,
    reason = "a table of cases is written once and read as a table"
)]
#![expect(
    clippy::print_stdout,
    reason = "a child process tells its parent how far it came"
)]

#[path = "store/bindings.rs"]
mod bindings;
#[path = "store/damage.rs"]
mod damage;
#[path = "store/damaged_bindings.rs"]
mod damaged_bindings;
#[path = "store/duplicate_calls.rs"]
mod duplicate_calls;
#[path = "store/durable.rs"]
mod durable;
#[path = "store/files.rs"]
mod files;
#[path = "store/gateways.rs"]
mod gateways;
#[path = "store/home.rs"]
mod home;
#[path = "store/joined.rs"]
mod joined;
#[path = "store/known.rs"]
mod known;
#[path = "store/log.rs"]
mod log;
#[path = "store/memory.rs"]
mod memory;
#[path = "store/moved.rs"]
mod moved;
#[path = "store/notes.rs"]
mod notes;
#[path = "store/passkeys.rs"]
mod passkeys;
#[path = "store/runs.rs"]
mod runs;
#[path = "store/session_parents.rs"]
mod session_parents;
#[path = "store/suite.rs"]
mod suite;
#[path = "store/tampering.rs"]
mod tampering;
#[path = "store/tickets.rs"]
mod tickets;
#[path = "store/tool_pins.rs"]
mod tool_pins;
#[path = "store/transfer.rs"]
mod transfer;
#[path = "store/waiting_runs.rs"]
mod waiting_runs;
#[path = "store/world.rs"]
mod world;
#[path = "store/writers.rs"]
mod writers;

mod stores {
    crate::suite::stores! {
        sqlite: crate::world::World::new(),
        memory: crate::world::World::in_memory(),
    }
}
