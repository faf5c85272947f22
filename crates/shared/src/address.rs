//! The address of a database, of which only the place is ever shown.

use std::{fmt, str::FromStr as _, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use crate::{
    certificate::{self, ClientCertificate},
    error::SharedError,
    tenant::Tenant,
    tls,
};

/// How long a connection may take: after that, a hook that waits for it refuses.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(2);

/// The location of a shared log, and the user who connects to it.
#[derive(Clone)]
pub struct Address {
    config: Config,
    place: String,
    certificate: Option<ClientCertificate>,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.place).finish()
    }
}

impl Address {
    /// Parses `postgres://USER@HOST:PORT/DATABASE`, or the same as `host=… dbname=…`.
    ///
    /// `password` is used if the address has none.
    ///
    /// # Errors
    /// It is not an address, or leads to another machine without encryption.
    pub fn new(text: &str, password: Option<&str>) -> Result<Self, SharedError> {
        let mut config = Config::from_str(text).map_err(|_| SharedError::BadAddress)?;
        if config.get_hosts().is_empty() || config.get_user().is_none() {
            return Err(SharedError::BadAddress);
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        config
            .connect_timeout(CONNECT_MAX)
            .tcp_user_timeout(Duration::from_secs(10))
            .application_name("interlock");
        let mut address = Self {
            place: place(&config),
            config,
            certificate: None,
        };
        if !address.is_here() && address.config.get_ssl_mode() != SslMode::Disable {
            // Never in the clear because somebody in between has answered that there is no TLS.
            address.config.ssl_mode(SslMode::Require);
        }
        if cfg!(not(feature = "tls")) && address.wants_tls() {
            let place = address.place;
            return Err(SharedError::NoTls { place });
        }
        Ok(address)
    }

    /// Shows the database this certificate, if there is one, on each connection, all of which are encrypted then, also on
    /// this machine.
    ///
    /// # Errors
    /// The address has no encrypted connections, or it is not a certificate with its key.
    pub fn with_certificate(
        mut self,
        shown: Option<ClientCertificate>,
    ) -> Result<Self, SharedError> {
        let Some(shown) = shown else {
            return Ok(self);
        };
        let unused = |what| certificate::bad(certificate::CERTIFICATE, what);
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        if self.config.get_ssl_mode() == SslMode::Disable {
            return Err(unused(
                "the address says `sslmode=disable`: remove that, or unset both variables",
            ));
        }
        if self.config.get_hosts().iter().any(is_socket) {
            return Err(unused(
                "a connection over a socket is not encrypted: name a host, or unset both variables",
            ));
        }
        tls::check(&self.place, &shown)?;
        self.config.ssl_mode(SslMode::Require);
        self.certificate = Some(shown);
        Ok(self)
    }

    /// Returns the certificate that the database is shown.
    pub(crate) const fn certificate(&self) -> Option<&ClientCertificate> {
        self.certificate.as_ref()
    }

    /// Returns `postgres://HOST:PORT/DATABASE`, for messages.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns whether a connection has to be encrypted.
    pub(crate) fn wants_tls(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Require
    }

    /// Returns whether all of its hosts are this machine.
    fn is_here(&self) -> bool {
        // If there is one, it is what is connected to, whatever the host's name is.
        let mut addresses = self.config.get_hostaddrs().iter();
        let mut hosts = self.config.get_hosts().iter();
        addresses.all(|address| address.is_loopback())
            && hosts.all(|host| match host {
                Host::Unix(_) => true,
                Host::Tcp(name) => {
                    let address = name.parse::<std::net::IpAddr>();
                    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
                }
            })
    }

    /// Returns how to connect as `tenant`.
    pub(crate) fn config_for(&self, tenant: &Tenant) -> Config {
        let mut config = self.config.clone();
        let own = config.get_options().unwrap_or_default();
        // Last, so that nothing in the address overrides it. What is acknowledged is on disk.
        let options = format!(
            "{own} -c interlock.tenant={tenant} -c synchronous_commit=on -c lock_timeout=5s \
             -c statement_timeout=10s -c idle_in_transaction_session_timeout=10s"
        );
        config.options(options.trim_start());
        config
    }
}

/// Returns the place without user and password.
fn place(config: &Config) -> String {
    let (ports, addresses) = (config.get_ports(), config.get_hostaddrs());
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| {
            let name = match (host, addresses.get(at)) {
                (Host::Tcp(_), Some(address)) => address.to_string(),
                (Host::Tcp(name), None) => name.clone(),
                (Host::Unix(path), _) => path.display().to_string(),
            };
            let port = ports.get(at).or_else(|| ports.first()).copied();
            match port {
                Some(port) if port != 5432 => format!("{name}:{port}"),
                _ => name,
            }
        })
        .collect();
    let database = config.get_dbname().or_else(|| config.get_user());
    format!(
        "postgres://{}/{}",
        hosts.join(","),
        database.unwrap_or_default()
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let text = "postgres://ana:s3cret%40x@127.0.0.1:5433/team?connect_timeout=3";
        let address = Address::new(text, None).unwrap();
        assert_eq!(address.place(), "postgres://127.0.0.1:5433/team");
        assert!(!format!("{address:?}").contains("s3cret"));
        let words = "host=/run/postgresql user=ana password=s3cret dbname=team";
        let address = Address::new(words, None).unwrap();
        assert_eq!(address.place(), "postgres:///run/postgresql/team");
        // The reason may quote a piece of the password.
        for text in [
            "postgres://ana:s3cret@host/team?s3cret=1",
            "postgres://ana:s3cret@host:port/team",
            "s3cret",
            "postgres://",
            "",
        ] {
            let error = Address::new(text, None).unwrap_err();
            assert!(!error.to_string().contains("s3c"), "{error}");
            assert!(!format!("{error:?}").contains("s3c"), "{error:?}");
        }
    }

    #[test]
    fn another_machine_is_not_spoken_to_in_the_clear_by_accident() {
        for text in [
            "postgres://ana@db.example/team",
            "postgres://ana@localhost,db.example/team",
            // The name is that of this machine, but the address connected to is not.
            "host=localhost hostaddr=203.0.113.7 user=ana dbname=team",
        ] {
            let is_kept = match Address::new(text, None) {
                Ok(address) => address.wants_tls(),
                Err(refused) => {
                    cfg!(not(feature = "tls")) && matches!(refused, SharedError::NoTls { .. })
                }
            };
            assert!(is_kept, "{text}");
        }
        for text in [
            "postgres://ana@db.example/team?sslmode=disable",
            "postgres://ana@localhost/team",
            "postgres://ana@[::1]/team",
            "host=localhost hostaddr=127.0.0.1 user=ana dbname=team",
        ] {
            let address = Address::new(text, None);
            assert!(address.is_ok_and(|address| !address.wants_tls()), "{text}");
        }
    }
}
