//! The console: a page on this machine that shows every run and takes a person's answers.
//!
//! It makes no decision: an answer goes the way that `interlock approve` goes. It is for the person, and a
//! guarded agent on the same machine gains nothing by it: `gate` says who may ask, `peer` which process does.

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
