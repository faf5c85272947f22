//! Attestations: signed statements about what a run proves of a commit.
//!
//! A [`Statement`] is an in-toto statement in a DSSE [`Envelope`], signed with ed25519. [`verify`] checks such a file against
//! trusted keys and an [`Expected`] commit, and says what is wrong with it.
//!
//! Pure: this crate reads no file, no clock and no repository, and makes no key by chance.

mod envelope;
mod form;
mod keys;
mod place;
mod refusal;
mod requirement;
mod statement;
mod verify;

pub use envelope::{Envelope, Signature, pae};
pub use form::{BUNDLE_TYPE, BYTES_MAX, PAYLOAD_TYPE, SIGNATURES_MAX};
pub use keys::{KeyError, PublicKey, SIGNATURE_BYTES, SecretKey, public_keys, read_signature};
pub use place::repository_name;
pub use refusal::{Refusal, Unmet};
pub use requirement::{BUILT_IN, Requirement};
pub use statement::{
    ApprovalFacts, Digest, EvidenceFacts, FileFacts, GuardFacts, LogFacts, PREDICATE_TYPE,
    Predicate, ReportFacts, RunFacts, STATEMENT_TYPE, Statement, Subject, WorkflowFacts, moment,
    time,
};
pub use verify::{Expected, ExpectedWorkflow, Verified, verify};
