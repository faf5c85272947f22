//! Everything below the state directory: runs, bindings, notes, the person's token.
//!
//! This is the only crate that knows the database of one machine. It judges nothing: it stores events, folds them with
//! [`interlock_core::evolve`], and returns them. If a file exists and cannot be read, that is an error; it is never treated as
//! missing. A damaged file is never deleted or overwritten.
//!
//! ```text
//! runs/ID/run.db          one run: pinned workflow, events, snapshots (SQLite)
//! runs/ID/baseline*.json  the state of protected files when the run began
//! runs/ID/frozen.json     the state of frozen files when the run began, or at the last approval
//! runs/ID/report-*.json   tests that later reports are compared with
//! runs/ID/parents.jsonl   the external spans that contain calls
//! runs/ID/joined.json     in place of run.db: the server that decides the run, and the token for it
//! runs/ID/session.json    the run's own record of the session it guards
//! runs/ID/messages/HASH   messages of models, and texts sent to them
//! runs/ID/revision.json   the commit that the project was at when the run began
//! runs/ID/origin.json     the source files of a durable run
//! work/ID/files/          the folder in which programs of a durable run start
//! work/ID/output/         texts that calls returned
//! names/HASH/NAME         the durable run of that name, by project and workflow
//! sessions/HASH.json      the run that guards a session
//! projects/HASH.json      the run that waits for a project's next session
//! notes/HASH-TIME-X.json  a hook's knowledge of a control call in progress
//! tickets/HASH.json       permission for one allowed shell line to run once
//! credentials/HASH.json   the run that a credential was made for
//! processes/HASH.json      the session that a client's process was last bound with
//! present/HASH/HASH.json   a session that was seen in a project
//! session_parents/HASH.json the session that started a sub-agent's session
//! proofs/HASH.json        when the properties of a workflow file were last checked
//! duplicate_calls/HASH.json judged calls of a session that its client will report again
//! token.json              the hash of the person's token
//! passkeys.json           the public keys of the person's passkeys
//! token-seen/HASH-RUN.json an agent has seen the person's token: void, or invalid for that run
//! mods/HASH.json          code inside a client that a person has accepted
//! trust/HASH.json         a person's decision about a project that widens permissions
//! bindings.lock           held while sessions, projects and holders change
//! locks/XX                held while a run is made for a session whose hash begins with XX
//! index.json              the list of runs, rebuilt from them when necessary
//! ```
//!
//! **Invariant.** An acknowledged event is in the log exactly once, and its hash chains it to all earlier events and to the
//! pinned workflow.

pub mod record;

mod adopted;
mod baseline;
mod bindings;
mod broken;
mod chain;
mod checked;
mod consoles;
mod credentials;
mod duplicate_calls;
mod durability;
mod durable;
mod error;
mod files;
mod folder;
mod frozen;
mod gateways;
mod home;
mod id;
mod joined;
mod list;
mod listed;
mod log;
mod marks;
mod messages;
mod mods;
mod moved;
mod names;
mod notes;
mod passkeys;
mod pin;
mod prepared;
mod presence;
mod proofs;
mod records;
mod report_files;
mod revision;
mod rows;
mod run_log;
mod run_store;
mod runs;
mod session_parents;
mod snapshot;
mod sqlite;
mod sqlite_pin;
mod sqlite_run;
mod sqlite_runs;
mod sqlite_snapshot;
mod start;
mod state_directory;
mod submit;
mod telemetry;
mod tickets;
mod token;
mod token_seen;
mod tool_pins;
mod transfer;
mod trust;
mod verify;

pub use baseline::{BASELINE, QUIET};
pub use bindings::{
    BindError, Binding, Bindings, ClientProcess, KnownSessions, Lookup, SessionKey, SessionLock,
    SessionScope,
};
pub use broken::{Broken, FirstBroken, VerifyError};
pub use chain::ChainHash;
pub use checked::{CheckedFiles, FILES_MAX, Files, changed_ms, has_too_many_files, is_check};
pub use consoles::ServedPort;
pub use duplicate_calls::{DuplicateCall, DuplicateCalls};
pub use durability::Durability;
pub use durable::{NewDurable, Origin};
pub use error::StoreError;
pub use folder::RunFolder;
pub use frozen::frozen_patterns;
pub use gateways::{GatewayCard, ManifestFile, ServedTool};
pub use home::Home;
pub use id::{random_word, run_id};
pub use joined::{JoinedRun, OpenJoined};
pub use list::RunList;
pub use listed::{Listed, RunCard, RunSummary, Which};
pub use log::{AppendError, EventLog, Recorded};
pub use messages::{Blobs, Messages};
pub use mods::ClientMod;
pub use names::name_fault;
pub use notes::{NOTE_AGE_MAX_MS, Note, NotedTool};
pub use passkeys::{Enrolled, Passkey, Used};
pub use pin::{NewRun, SourceFile};
pub use prepared::Started;
pub use prepared::{Prepared, PreparedFor};
pub use presence::Presence;
pub use proofs::LastProof;
pub use report_files::ReportFiles;
pub use revision::{Revision, git_directory};
pub use run_log::RunLog;
pub use run_store::RunStore;
pub use runs::{Runs, UnpublishedRun};
pub use start::StartError;
pub use submit::{submit, submit_made};
pub use telemetry::TelemetryMark;
pub use tickets::{TICKET_AGE_MAX_MS, Ticket, TicketError, line_digest};
pub use token::TokenStanding;
pub use token_seen::refuse_for_token;
pub use tool_pins::ToolPin;
pub use trust::TrustWord;
