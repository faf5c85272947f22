//! How servers are reached: started, or called over HTTP.

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
    /// It is started, and spoken to by its standard input and output.
    Process(Process),
    /// It is called.
    Http(Box<HttpServer>),
}

/// A connection that is being made.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<Connection, String>> + Send + 'a>>;

/// Connects to a server, again and again.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects once; the error says why not.
    fn dial<'a>(&'a self, options: &'a ConnectOptions) -> Dialing<'a>;
}

/// What a connection of any server needs to know.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// What people call the server.
    pub label: String,
    /// The longest message, in bytes.
    pub bytes_max: usize,
    /// Where its standard error goes.
    pub notes: Notes,
    /// Held as long as the process may run.
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
