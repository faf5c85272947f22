//! The servers behind a gateway, and how they are reached.

pub mod http;
pub mod stdio;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc;

use self::{http::HttpServer, stdio::Process};
use crate::{asks::Asker, channel::Channel, era::Era, metrics::Metrics, notes::Notes};
use interlock_project::Asks;

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
    /// The eras it would not speak when it was asked; it need not be asked again.
    refused: Mutex<Vec<Era>>,
}

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
            refused: Mutex::default(),
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

    /// Tells whether it would not speak an era when it was asked.
    pub(crate) fn refused(&self, era: Era) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.contains(&era)
    }

    /// Tells whether it is known to speak the modern era alone, in which every request stands for itself.
    pub(crate) fn has_no_sessions(&self) -> bool {
        self.refused(Era::Legacy) && !self.refused(Era::Modern)
    }

    /// Remembers that it will not speak an era.
    pub(crate) fn refuses(&self, era: Era) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if !refused.contains(&era) {
            refused.push(era);
        }
    }

    /// Forgets which eras it would not speak: it may be another program by now.
    pub(crate) fn forgive(&self) {
        self.refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
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
