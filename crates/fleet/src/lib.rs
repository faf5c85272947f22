//! Runs that a server decides for many machines: the bodies of its API, and a run as a client of it sees it.
//!
//! A person joins a run on a machine (`interlock shared join`). From then on, a hook on that machine judges with the facts
//! of its own files and sends the command to the server, which decides and records it. Nothing is decided here.
//!
//! The process of a session's gateway keeps a connection to the server and forwards the requests of hooks over it, so that
//! they need no connection of their own ([`keep_connection`]).
//!
//! **Invariant.** Without an answer of the server nothing is allowed: there is no cache that could allow a call. Nothing of
//! this crate runs for a run that is stored on this machine.

mod bundles;
mod client;
mod console;
mod error;
mod forward;
mod keep;
mod people;
mod remote;
mod request;
mod wire;

pub use bundles::{BundleView, RefusedBundle, current_bundle, start_run};
pub use console::{
    AskedRow, AskedView, AuditHeadView, AuditHeads, CodeBody, EvidenceView, Me, PageSignIn,
    RunGraph, SignInAddress, Told,
};
pub use error::FleetError;
pub use keep::keep_connection;
pub use people::{
    ApprovalView, IssuerLine, Issuers, JobBody, PeopleBody, PeopleView, SignInBody, SignedIn,
    VoteLine,
};
pub use remote::open;
pub use wire::{
    AnswerBody, BundleRef, CommandBody, Decided, ErrorBody, ErrorLine, EventLine, EventPage,
    Health, PausedView, Pinned, RunLine, RunPage, RunView, Settlement, SnapshotView, StandingView,
    StartBody, Started, Verdict, WireCommand, WorkflowFile,
};
