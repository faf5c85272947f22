//! What happened in a tenant: events, commands with their answers, runs, votes, policies, people, tokens and bundles, in one
//! order and signed.
//!
//! [Signing](seal) numbers what is not numbered yet, chains it, and signs the last hash. An [export](export) reads the
//! contents again from their own tables and compares them with the chain, so that whatever was changed after it was
//! signed is named instead of exported. [`verify_audit`] checks a file without the database.

mod entry;
mod error;
mod export;
mod kinds;
mod line;
mod seal;
mod verify;
mod vote;

pub use error::{AuditError, AuditRefusal, AuditWrong};
pub use export::{AuditExport, AuditFrom, AuditHead};
pub use verify::{AuditExpected, AuditVerified, verify_audit};
