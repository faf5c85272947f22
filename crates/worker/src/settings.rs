//! What a worker is started with.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use interlock_project::Environment;
use interlock_shared::WORKSPACE_BYTES_MAX;
use reqwest::Url;

use crate::{error::WorkerError, projects::Projects};

/// The shortest lease.
pub const LEASE_MIN: Duration = Duration::from_secs(3);
/// The longest lease.
pub const LEASE_MAX: Duration = Duration::from_secs(3600);
/// Maximum number of runs that a worker carries at once.
pub const SLOTS_MAX: usize = 256;

/// Maximum number of bytes of the files of one run.
pub const WORKSPACE_MAX: u64 = WORKSPACE_BYTES_MAX;

/// What a worker is started with.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// Where Restate's requests are accepted.
    pub listen: SocketAddr,
    /// The address under which Restate reaches the workers; `None`: the one that is listened on.
    pub advertise: Option<String>,
    /// Restate's ingress.
    pub restate: String,
    /// Restate's address for administration, at which the workers are registered.
    pub restate_admin: Option<String>,
    /// The public keys that Restate signs its requests with.
    pub identity_keys: Vec<String>,
    /// Where the projects of runs are.
    pub projects: Projects,
    /// How many bytes the files of one run may have that move with it.
    pub workspace_limit: u64,
    /// How long a run stays with a carrier that does not renew its lease.
    pub lease: Duration,
    /// How many runs are carried at once.
    pub slots: usize,
    /// The environment of this process, in which `program` is `interlock`.
    pub environment: Environment,
}

impl WorkerSettings {
    /// Returns Restate's ingress, after checking what depends on where it is.
    pub(crate) fn ingress(&self) -> Result<Url, WorkerError> {
        let ingress = address(&self.restate, "Restate")?;
        let is_here = self.listen.ip().is_loopback() && interlock_http::is_loopback(&ingress);
        if self.identity_keys.is_empty() && !is_here {
            return Err(WorkerError::NoIdentity(self.listen));
        }
        Ok(ingress)
    }

    /// Returns the lease, within its limits.
    pub(crate) fn lease(&self) -> Duration {
        self.lease.clamp(LEASE_MIN, LEASE_MAX)
    }

    /// Returns the number of runs at once, within its limits.
    pub(crate) fn slots(&self) -> usize {
        const ALLOWED: RangeInclusive<usize> = 1..=SLOTS_MAX;
        self.slots.clamp(*ALLOWED.start(), *ALLOWED.end())
    }
}

/// Parses an address that is a scheme, a host and a port.
pub(crate) fn address(text: &str, what: &'static str) -> Result<Url, WorkerError> {
    let bad = || WorkerError::BadAddress {
        // A password in it is not repeated.
        address: text.rsplit('@').next().unwrap_or_default().to_owned(),
        what,
    };
    let url = Url::parse(text).map_err(|_| bad())?;
    let is_plain = ["http", "https"].contains(&url.scheme())
        && url.host_str().is_some()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if is_plain { Ok(url) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::address;

    #[test]
    fn an_address_is_a_scheme_a_host_and_a_port() {
        for text in [
            "http://127.0.0.1:8080",
            "https://restate.example",
            "http://[::1]:1/",
        ] {
            address(text, "Restate").unwrap();
        }
        for text in [
            "",
            "127.0.0.1:8080",
            "ftp://a",
            "http://a/b",
            "http://a?b",
            "http://a#b",
            "http://u@a",
        ] {
            assert!(address(text, "Restate").is_err(), "{text}");
        }
        let error = address("http://ana:secret@a/b", "Restate").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
