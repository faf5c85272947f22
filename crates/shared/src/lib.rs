//! The log of a team: runs of many machines in one PostgreSQL database.
//!
//! Implements the traits of `interlock-store`: [`SharedRuns`] is its `Runs`, [`SharedRun`] its `RunStore`. Rows
//! contain the bytes as they were written and the previous hash, in the same chain as in a SQLite file, so
//! that a run of a machine is imported with its hashes.
//!
//! An append is one transaction: it locks the run, answers a known command with its stored reply,
//! compares the carrier's epoch and the number of events, and writes. What concerns one machine (scratch,
//! notes, baseline, process groups) stays in a folder on it.
//!
//! **Invariant.** What was acknowledged is on the database's disk. No statement sees rows of another tenant,
//! even if it does not name its tenant.

mod address;
mod append;
mod audit;
mod blobs;
mod bundle;
mod carriers;
mod certificate;
mod connect;
mod database;
mod doctor;
mod error;
mod export;
mod import;
mod outbox;
mod people;
mod places;
mod rows;
mod run;
mod runs;
mod runtime;
mod schema;
mod serve;
mod sign_in;
mod tenant;
mod tls;
mod tokens;
mod votes;
mod workspaces;

pub use address::Address;
pub use append::{Appended, CommandKey};
pub use audit::{
    AuditError, AuditExpected, AuditExport, AuditFrom, AuditHead, AuditRefusal, AuditVerified,
    AuditWrong, verify_audit,
};
pub use bundle::{
    Accepted, BUNDLE_BYTES_MAX, BundleCard, BundleName, BundleRefusal, CheckedBundle, KeptBundles,
    Looser, Manifest, PublishError, check_stricter, new_bundle,
};
pub use carriers::{CarrierState, Claim, Claimed, GivenBack};
pub use certificate::{CERTIFICATE, ClientCertificate, KEY};
pub use database::Database;
pub use doctor::Check;
pub use error::SharedError;
pub use import::ImportDone;
pub use outbox::{OutboxMessage, OutboxRow};
pub use people::{BadPeople, LoadedPeople, People};
pub use run::SharedRun;
pub use runs::SharedRuns;
pub use schema::{FORMAT, InitDone, Standing};
pub use serve::{ServeError, ServeSettings, serve};
pub use sign_in::{BadSignIn, SignIn};
pub use tenant::{BadTenant, Tenant};
pub use tokens::{DAYS_MAX, Role, TokenCard};
pub use workspaces::{NewWorkspace, WORKSPACE_BYTES_MAX, Workspace, WorkspaceRecorder};
