//! The servers behind a gateway, as they are configured.

use std::time::Duration;

use interlock_mcp::handshake::Eras;
use interlock_project::Asks;

use crate::{asks::Asker, era::Era, metrics::Metrics};

pub use interlock_mcp::transport::{
    ConnectOptions, Connection, Dial, Dialing, Fate, Reach, Running, http, stdio,
};

/// A server behind the gateway, as it is configured.
#[derive(Debug)]
pub struct Server {
    /// Its name; empty: the one that is wrapped.
    pub name: String,
    /// How it is reached.
    pub dial: Box<dyn Dial>,
    /// Whether all sessions share one connection.
    pub shared: bool,
    /// How long a request may take; `None`: as long as the client waits.
    pub timeout: Option<Duration>,
    /// What it may ask of a client.
    pub asks: Asks,
    /// Where its connections are counted.
    pub metrics: Metrics,
    /// What is known of the eras it speaks.
    pub(crate) eras: Eras,
}

impl Server {
    /// Names a server and how it is reached.
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

    /// Returns what people call it.
    #[must_use]
    pub fn label(&self) -> String {
        if self.name.is_empty() {
            "the server".to_owned()
        } else {
            format!("the server `{}`", self.name)
        }
    }

    /// Returns who asks, where it asks something of a client.
    pub(crate) fn asker(&self) -> Asker {
        Asker {
            label: self.label(),
            may: self.asks,
        }
    }

    /// Returns what stands before `__` where a name of one of its tools is not unique.
    #[must_use]
    pub fn prefix(&self) -> &str {
        if self.name.is_empty() {
            "server"
        } else {
            &self.name
        }
    }

    /// Tells whether it is known to speak the modern era alone, in which every request stands for itself.
    pub(crate) fn has_no_sessions(&self) -> bool {
        self.eras.refused(Era::Legacy) && !self.eras.refused(Era::Modern)
    }
}
