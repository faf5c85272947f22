//! The console: a local web page that shows every run and takes a person's answers.
//!
//! The console makes no decision: an answer is handled as by `interlock approve`. It is for the person; a guarded agent
//! on the same machine gains nothing from it: `gate` checks each request, `peer` finds the process behind it.

mod alarms;
mod alignments;
mod api;
mod board;
mod bounded;
mod cases;
mod checked;
mod export;
mod gate;
mod history;
mod masked;
mod outline;
mod page;
mod pairing;
mod passkeys;
mod peer;
mod proofs;
mod protected;
mod query;
mod reply;
mod requests;
mod server;
mod shared;
mod shown;
mod signed;
mod spent;
mod spoken;
mod turns;
mod workflows;

pub use api::export;
pub use export::Exported;
pub use pairing::PairingRequest;
pub use passkeys::Enrolment;
pub use server::{Console, ConsoleError};
pub use shared::{Settings, Workplace};
pub use signed::signed_answers;
