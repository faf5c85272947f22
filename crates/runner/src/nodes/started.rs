//! Servers that were started for states, each once per configuration.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use super::{Configured, LOOK_EVERY, NotStarted, ServerRequest};
use crate::stage::Servers;

/// Running and starting servers, by their configuration.
#[derive(Default)]
pub(super) struct Started {
    all: Mutex<BTreeMap<String, Stand>>,
    changed: Condvar,
}

/// State of one server.
enum Stand {
    /// It is being started.
    Starting,
    Running(Arc<dyn Servers>),
}

impl Started {
    /// Starts a server, unless an equal one is already running.
    ///
    /// Of two callers that want equal servers, one waits for the other; different servers do not wait for each other.
    pub(super) fn start(
        &self,
        configured: &dyn Configured,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        let key = server.key();
        let mut all = self.lock();
        loop {
            match all.get(&key) {
                Some(Stand::Running(known)) => return Ok(Arc::clone(known)),
                Some(Stand::Starting) if given_up() => return Err(NotStarted::given_up(server)),
                Some(Stand::Starting) => {
                    let waited = self.changed.wait_timeout(all, LOOK_EVERY);
                    (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        all.insert(key.clone(), Stand::Starting);
        drop(all);
        let mut place = StartSlot {
            started: self,
            key,
            running: None,
        };
        let servers = configured.start(server, given_up)?;
        place.running = Some(Arc::clone(&servers));
        Ok(servers)
    }

    /// Returns whether an equal server is running.
    pub(super) fn has(&self, server: &ServerRequest) -> bool {
        matches!(self.lock().get(&server.key()), Some(Stand::Running(_)))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Stand>> {
        // A panic leaves nothing half changed under this lock.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of a server that is being started, released if that fails.
struct StartSlot<'a> {
    started: &'a Started,
    key: String,
    running: Option<Arc<dyn Servers>>,
}

impl Drop for StartSlot<'_> {
    fn drop(&mut self) {
        let mut all = self.started.lock();
        match self.running.take() {
            Some(servers) => drop(all.insert(self.key.clone(), Stand::Running(servers))),
            None => drop(all.remove(&self.key)),
        }
        self.started.changed.notify_all();
    }
}
