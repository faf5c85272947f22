//! Looks up which processes hold a socket of a connection on this machine.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use interlock_process::table;

use super::diag;

/// Lists the processes that hold the socket at `peer` of the connection to `local`; returns `None` if none is
/// visible.
pub(super) fn holders(peer: SocketAddr, local: SocketAddr) -> Option<Vec<u32>> {
    let (peer, local) = (plain(peer), plain(local));
    // A kernel without this interface still has the tables.
    let inode = diag::inode(peer, local).or_else(|| listed(peer, local))?;
    let wanted = format!("socket:[{inode}]");
    let found: Vec<u32> = table::ids()?.filter(|pid| holds(*pid, &wanted)).collect();
    (!found.is_empty()).then_some(found)
}

/// Looks up the inode of `peer`'s end in the tables of all sockets, which takes the kernel milliseconds to write.
fn listed(peer: SocketAddr, local: SocketAddr) -> Option<u64> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    tables.iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines()
            .skip(1)
            .find_map(|line| inode_of(line, peer, local))
    })
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
    if own != peer || other != local {
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
        let [peer, local] = ["127.0.0.1:8080", "127.0.0.1:50000"].map(|text| text.parse().unwrap());
        assert_eq!(inode_of(line, peer, local), Some(4242));
        assert_eq!(inode_of(line, local, peer), None);
        let mapped = "   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 7 1";
        assert_eq!(inode_of(mapped, peer, local), Some(7));
        let gone = line.replace("4242", "0");
        assert_eq!(inode_of(&gone, peer, local), None);
    }

    #[test]
    fn a_connection_of_this_process_is_found() {
        for (address, host) in [
            ("127.0.0.1:0", "127.0.0.1"),
            ("127.0.0.1:0", "::ffff:127.0.0.1"),
            ("[::1]:0", "::1"),
        ] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let local = listener.local_addr().unwrap();
            let stream = TcpStream::connect((host, local.port())).unwrap();
            let peer = plain(stream.local_addr().unwrap());
            let found = holders(peer, local).unwrap();
            assert!(found.contains(&std::process::id()), "{found:?}");
            assert!(listed(peer, local).is_some(), "{peer}");
            assert_eq!(diag::inode(peer, local), listed(peer, local), "{peer}");
            let (closing, _) = listener.accept().unwrap();
            drop(stream);
            drop(closing);
            assert_eq!(holders(peer, local), None, "closed");
        }
    }
}
