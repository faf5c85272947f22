//! Finds the process at the other end of a connection, and whether it belongs to a guarded agent.
//!
//! On Linux, the connection's socket is looked up in the system's tables, and then among the open files of every
//! process. A process that cannot be found has no access.

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
use linux::holders;

/// On other systems, the other end is not looked up; the page says so.
#[cfg(not(target_os = "linux"))]
fn holders(_peer: SocketAddr, _local: SocketAddr) -> Option<Vec<u32>> {
    Some(Vec::new())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs,
        net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    };

    use interlock_process::table;

    /// Lists the processes that hold the socket at `peer` of the connection to `local`; returns `None` if none is
    /// visible.
    pub(super) fn holders(peer: SocketAddr, local: SocketAddr) -> Option<Vec<u32>> {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
        let inode = tables.iter().find_map(|table| {
            let text = fs::read_to_string(table).ok()?;
            text.lines()
                .skip(1)
                .find_map(|line| inode_of(line, peer, local))
        })?;
        let wanted = format!("socket:[{inode}]");
        let found: Vec<u32> = table::ids()?.filter(|pid| holds(*pid, &wanted)).collect();
        (!found.is_empty()).then_some(found)
    }

    fn holds(pid: u32, wanted: &str) -> bool {
        let open = fs::read_dir(format!("/proc/{pid}/fd"));
        open.into_iter().flatten().flatten().any(|entry| {
            let target = fs::read_link(entry.path());
            target.is_ok_and(|target| target.as_os_str() == wanted)
        })
    }

    /// Returns the inode of the socket in a line of the table, if it is `peer`'s end of the connection to `local`.
    ///
    /// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …`
    fn inode_of(line: &str, peer: SocketAddr, local: SocketAddr) -> Option<u64> {
        let mut fields = line.split_whitespace().skip(1);
        let own = address(fields.next()?)?;
        let other = address(fields.next()?)?;
        if own != plain(peer) || other != plain(local) {
            return None;
        }
        // 0 means that no process holds it.
        fields.nth(6)?.parse().ok().filter(|inode| *inode > 0)
    }

    /// Parses an address from the table: words of four bytes in native order, then the port.
    fn address(text: &str) -> Option<SocketAddr> {
        let (ip, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let mut bytes = Vec::new();
        for at in (0..ip.len()).step_by(8) {
            let word = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
            bytes.extend(word.to_ne_bytes());
        }
        let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
            Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
            Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?)),
        };
        Some(plain(SocketAddr::new(ip, port)))
    }

    /// Converts an IPv4-mapped IPv6 address to IPv4.
    fn plain(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    #[cfg(test)]
    #[expect(clippy::unwrap_used, reason = "a failed test panics")]
    mod tests {
        use std::net::{TcpListener, TcpStream};

        use super::*;

        #[test]
        fn both_kinds_of_addresses_are_read() {
            let line = "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4242 1";
            let [peer, local] =
                ["127.0.0.1:8080", "127.0.0.1:50000"].map(|text| text.parse().unwrap());
            assert_eq!(inode_of(line, peer, local), Some(4242));
            assert_eq!(inode_of(line, local, peer), None);
            let mapped = "   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 7 1";
            assert_eq!(inode_of(mapped, peer, local), Some(7));
            let gone = line.replace("4242", "0");
            assert_eq!(inode_of(&gone, peer, local), None);
        }

        #[test]
        fn a_connection_of_this_process_is_found() {
            for address in ["127.0.0.1:0", "[::1]:0"] {
                let Ok(listener) = TcpListener::bind(address) else {
                    continue;
                };
                let local = listener.local_addr().unwrap();
                let stream = TcpStream::connect(local).unwrap();
                let peer = stream.local_addr().unwrap();
                let found = holders(peer, local).unwrap();
                assert!(found.contains(&std::process::id()), "{found:?}");
                let (closing, _) = listener.accept().unwrap();
                drop(stream);
                drop(closing);
                assert_eq!(holders(peer, local), None, "closed");
            }
        }
    }
}
