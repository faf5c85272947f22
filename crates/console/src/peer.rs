//! Finds the process at the other end of a connection, and whether it belongs to a guarded agent.
//!
//! On Linux, the kernel is asked for the connection's socket, which is then looked for among the open files of every
//! process. A process that cannot be found has no access.

#[cfg(target_os = "linux")]
mod diag;
#[cfg(target_os = "linux")]
mod sockets;

use std::net::SocketAddr;

use interlock_clients::{guarded::guarded_above, process};
use interlock_core::names::RunId;
use interlock_store::{ClientProcess, Home, KnownSessions};

use crate::reply::Problem;

/// Maximum number of attempts to find a peer.
const TRIES_MAX: u32 = 3;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    peer: SocketAddr,
    local: SocketAddr,
}

/// A process that belongs to the agent of a guarded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) run: RunId,
    pub(crate) pid: u32,
    pub(crate) program: String,
}

/// The owner of the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Not a guarded agent: the processes that own the connection; empty on systems where they are not looked up.
    Other(Vec<ClientProcess>),
    /// A guarded agent.
    Agent(Agent),
}

impl Connection {
    pub(crate) const fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        Self { peer, local }
    }

    /// Finds the process at the other end; blocks on disk access.
    ///
    /// It is looked up for each request, because a process may pass its connection to another.
    ///
    /// # Errors
    /// The process cannot be determined.
    pub(crate) fn peer(
        self,
        home: &Home,
        known: &KnownSessions,
        now_ms: u64,
    ) -> Result<Peer, Problem> {
        let mut tries = 1;
        loop {
            match self.look(home, known, now_ms) {
                // A child that a browser has just forked shares its connections until it executes its program.
                Err(_) if tries < TRIES_MAX => tries += 1,
                found => return found,
            }
        }
    }

    fn look(self, home: &Home, known: &KnownSessions, now_ms: u64) -> Result<Peer, Problem> {
        let unknown = |_| {
            Problem::forbidden(
                "peer",
                "the process that asks cannot be found: open the console on this machine, as the user who runs it",
            )
        };
        let found = holders(self.peer, self.local).ok_or(()).map_err(unknown)?;
        let mut processes = Vec::new();
        for pid in found {
            let run = guarded_above(home, known, pid, now_ms).map_err(|error| {
                let message = format!("it is unknown whether an agent asks: {error}");
                Problem::forbidden("peer", message)
            })?;
            if let Some(run) = run {
                let program = process::look(pid).map_or_else(String::new, |found| found.name);
                return Ok(Peer::Agent(Agent { run, pid, program }));
            }
            processes.extend(process::look(pid).map(|found| found.client));
        }
        Ok(Peer::Other(processes))
    }
}

#[cfg(target_os = "linux")]
use sockets::holders;

/// On other systems, the other end is not looked up; the page says so.
#[cfg(not(target_os = "linux"))]
fn holders(_peer: SocketAddr, _local: SocketAddr) -> Option<Vec<u32>> {
    Some(Vec::new())
}
