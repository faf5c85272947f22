//! Determines the facts of a tool call: what it would write, read, run and touch.
//!
//! One function, [`facts`], serves hook, gateway, runner and simulation. It reads the disk through a trait and judges nothing: it
//! knows no state, no policy and no client; a [`Shape`] describes a tool's arguments.

mod canonical;
mod context;
mod disk;
mod edit;
mod lines;
mod notebook;
mod patch;
mod path;
mod place;
mod proposal;
mod protected;
mod report;
mod served;
mod shape;
mod shell;
mod summary;
mod touched;
mod watch;

pub use canonical::{
    Inexact, arguments_digest, canonical, canonical_text, control_digest, digest, exact,
};
pub use context::{CallContext, CallSite};
pub use disk::{Disk, DiskError, GivenDisk, Kind, RealDisk, Seen, Stamp, state_of};
pub use interlock_json::{Parsed, parse, with_whole_characters};
pub use path::{PathError, normalise};
pub use place::{Located, locate};
pub use proposal::{Proposal, facts, served_facts, variables};
pub use protected::{CONFIG_KEYS, Compared, Part, ProtectedPath, protected_paths};
pub use report::{ReportFailure, TestOutcome, TestReport, read_report};
pub use served::{FileUse, TextUse};
pub use shape::{EditFields, Shape};
pub use summary::one_line;
pub use watch::{Baseline, Comparison, Quiet, SETTINGS_KEYS};
