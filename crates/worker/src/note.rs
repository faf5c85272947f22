//! What a worker reports.

use std::{net::SocketAddr, path::PathBuf};

use crate::next::Next;

/// What a worker reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Restate's requests are accepted.
    Ready {
        /// The address that is listened on.
        address: SocketAddr,
        /// The name of this worker in the log.
        holder: String,
    },
    /// A run is carried here.
    Taken {
        /// The run.
        run: String,
        /// The epoch.
        epoch: u64,
        /// Whether the previous carrier was lost.
        is_interrupted: bool,
    },
    /// The files of a run were restored here.
    Restored {
        /// The run.
        run: String,
        /// The machine that has recorded them.
        machine: String,
        /// Where other files of the run were set aside.
        aside: Option<PathBuf>,
    },
    /// A run is no longer carried here.
    Ended {
        /// The run.
        run: String,
        /// The epoch.
        epoch: u64,
        /// What follows.
        next: Next,
        /// Why it could not go on here.
        why: Option<String>,
    },
    /// Something fails, and is tried again.
    Trouble {
        /// What fails.
        what: String,
    },
}
