//! The configured servers behind a gateway.

use std::time::Duration;

use interlock_mcp::handshake::Eras;
use interlock_project::Asks;

use crate::{asks::Asker, era::Era, metrics::Metrics};

pub use interlock_mcp::transport::{
    ConnectOptions, Connection, Dial, Dialing, Fate, Reach, Running, http, stdio,
};

/// A configured server behind the gateway.
#[derive(Debug)]
pub struct Server {
    /// Name of the server; empty for the wrapped one.
    pub name: String,
    /// How the server is reached.
    pub dial: Box<dyn Dial>,
    /// Whether all sessions share one connection.
    pub shared: bool,
    /// Time limit of a request; `None` if only the client limits it.
    pub timeout: Option<Duration>,
    /// What the server may ask of a client.
    pub asks: Asks,
    /// Counter of its connections.
    pub metrics: Metrics,
    /// Protocols that it is known to support.
    pub(crate) eras: Eras,
}

impl Server {
    /// Creates a server from its name and how it is reached.
    #[must_use]
    pub fn new(name: &str, dial: Box<dyn Dial>) -> Self {
        Self {
            name: name.to_owned(),
            dial,
            shared: false,
            timeout: None,
            asks: Asks::default(),
            metrics: Metrics::default(),
            eras: Eras::default(),
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn label(&self) -> String {
        if self.name.is_empty() {
            "the server".to_owned()
        } else {
            format!("the server `{}`", self.name)
        }
    }

    /// Returns the identity with which it asks something of a client.
    pub(crate) fn asker(&self) -> Asker {
        Asker {
            label: self.label(),
            may: self.asks,
        }
    }

    /// Returns the prefix before `__` for tools whose names are not unique.
    #[must_use]
    pub fn prefix(&self) -> &str {
        if self.name.is_empty() {
            "server"
        } else {
            &self.name
        }
    }

    /// Returns whether it is known to support only the modern protocol, in which every request is independent.
    pub(crate) fn has_no_sessions(&self) -> bool {
        self.eras.refused(Era::Legacy) && !self.eras.refused(Era::Modern)
    }
}
