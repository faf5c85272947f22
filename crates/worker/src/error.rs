//! Why a worker cannot work.

use std::{io, net::SocketAddr};

use interlock_shared::SharedError;

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] SharedError),
    /// An address is not one.
    #[error("`{address}` is not an address for {what}: write `http://HOST:PORT` or `https://HOST`")]
    BadAddress {
        /// The address.
        address: String,
        /// What it is for.
        what: &'static str,
    },
    /// The address for administration is another machine's.
    #[error(
        "`{0}` is another machine, and Restate's address for administration asks nobody who they are: register the workers on the machine of Restate, with `interlock worker --register-only`"
    )]
    AdminElsewhere(String),
    /// Anyone who reaches the worker could have runs carried.
    #[error(
        "{0} can be reached from other machines, or Restate is on one: name the public key that Restate signs its requests with, with `--identity-key`"
    )]
    NoIdentity(SocketAddr),
    /// A text is not a public key of Restate.
    #[error(
        "`{0}` is not a public key of Restate: it begins with `publickeyv1_`, and Restate prints it when it starts"
    )]
    BadIdentity(String),
    /// The address is not available.
    #[error("{address} cannot be listened on: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The system provides no threads or no event queue.
    #[error("the worker cannot start: {0}")]
    Start(#[source] io::Error),
    /// Restate does not answer, or refuses.
    #[error("Restate at `{place}` {what}")]
    Restate {
        /// The address.
        place: String,
        /// What went wrong, and what to do.
        what: String,
    },
}
