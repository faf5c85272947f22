//! The errors of a client of a server.

use interlock_store::StoreError;

/// Why a server did not answer as wanted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The server did not answer in time.
    #[error(
        "store_unreachable: `{server}` did not answer ({what}); nothing is allowed until it does"
    )]
    Unreachable {
        /// The address of the server.
        server: String,
        /// What the system said.
        what: String,
    },
    /// The server refused the request.
    #[error("{code}: {message} (`{server}`)")]
    Refused {
        /// The address of the server.
        server: String,
        /// The code of the error.
        code: String,
        /// The sentence of the error.
        message: String,
    },
    /// The answer is not one of Interlock's.
    #[error("`{server}` gave an answer that cannot be read ({what}): check the address")]
    Unreadable {
        /// The address of the server.
        server: String,
        /// What is wrong with it.
        what: String,
    },
    /// The address of the server is not acceptable.
    #[error("`{server}` is not the address of a server: {why}")]
    BadServer {
        /// The address.
        server: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The command is not for a run of a server.
    #[error("run `{run}` is decided by a server, which does not take this command from a machine")]
    NotHere {
        /// The run.
        run: String,
    },
}

impl From<FleetError> for StoreError {
    fn from(error: FleetError) -> Self {
        Self::Elsewhere(Box::new(error))
    }
}
