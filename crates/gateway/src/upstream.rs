//! The servers behind a gateway, and how they are reached.

pub mod http;
pub mod stdio;

use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;

use crate::link::Link;

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    /// Its messages.
    pub link: Link,
    /// Why it ended, once it has.
    pub fate: Fate,
}

/// Why a connection ended, said once.
#[derive(Debug, Clone, Default)]
pub struct Fate(Arc<OnceLock<String>>);

impl Fate {
    /// Says why; only the first word counts.
    pub fn say(&self, why: String) {
        self.0.set(why).ok();
    }

    /// Returns what was said.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Held by everything that must end before the gateway does.
#[derive(Debug, Clone)]
pub struct Running {
    /// Nothing is ever sent: it is closed when the last holder drops it.
    _held: mpsc::Sender<()>,
}

impl Running {
    /// Makes one, and what tells when the last of its clones is dropped.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<()>) {
        let (held, ended) = mpsc::channel(1);
        (Self { _held: held }, ended)
    }
}
