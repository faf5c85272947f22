//! How servers are reached: as a process, or over HTTP.

pub mod http;
pub mod stdio;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use tokio::sync::mpsc;

use self::{http::HttpServer, stdio::Process};
use crate::{channel::Channel, notes::Notes};

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// It is started, and used through its standard input and output.
    Process(Process),
    /// It is called over HTTP.
    Http(Box<HttpServer>),
}

/// A pending connection attempt.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<Connection, String>> + Send + 'a>>;

/// Connects to a server, any number of times.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects once; the error gives the reason for a failure.
    fn dial<'a>(&'a self, options: &'a ConnectOptions) -> Dialing<'a>;
}

/// Options of a connection to any server.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Name of the server for people.
    pub label: String,
    /// Maximum size of a message in bytes.
    pub bytes_max: usize,
    /// Destination of its standard error.
    pub notes: Notes,
    /// Guard that is held as long as the process may run.
    pub running: Running,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    /// Its messages.
    pub link: Channel,
    /// Why it ended, once it has.
    pub fate: Fate,
}

/// Why a connection ended, set once.
#[derive(Debug, Clone, Default)]
pub struct Fate(Arc<OnceLock<String>>);

impl Fate {
    /// Sets the reason; only the first one counts.
    pub fn say(&self, why: String) {
        self.0.set(why).ok();
    }

    /// Returns the reason.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Guard of everything that must end before the gateway does.
#[derive(Debug, Clone)]
pub struct Running {
    /// Nothing is ever sent: it closes when the last holder drops it.
    _held: mpsc::Sender<()>,
}

impl Running {
    /// Creates one, and a receiver that closes when the last of its clones is dropped.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<()>) {
        let (held, ended) = mpsc::channel(1);
        (Self { _held: held }, ended)
    }
}
