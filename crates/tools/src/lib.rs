//! The built-in tools of a model stage: files, searches, shell lines, requests.
//!
//! A [`Tool`] has a name, a description and a schema for the model, the [`Shape`] from which [`interlock_facts`] determines its
//! facts, and [`Tool::run`]. It knows no model and no run, and decides nothing about permission: the caller has asked the judge
//! before, and passes the judged facts. A tool does only what those facts contain; if the disk has changed since, it refuses with
//! [`Code::Moved`].
//!
//! Blocking, for plain threads; [`Cancel`](interlock_process::Cancel) cancels a call from another one. Every failure is a
//! [`ToolEnd`] with a stable code and a sentence for the model.
//!
//! [`Shape`]: interlock_facts::Shape

mod arguments;
mod carry;
mod catalogue;
mod context;
mod cut;
mod disk;
mod end;
mod files;
mod http;
mod input;
mod knowledge;
mod line;
mod place;
mod summary;
mod tree;

pub use arguments::{ArgumentError, Arguments, findings};
pub use catalogue::{Deed, Tool};
pub use context::{Carrier, Datasource, Progress, Seen, SeenFile, ToolContext};
pub use cut::cut;
pub use end::{Code, ConfinementReport, Reply, ToolEnd};
pub use summary::Secrets;
pub use tree::{Documents, documents};
