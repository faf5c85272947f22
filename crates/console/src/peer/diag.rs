//! Asks the kernel for one socket of a connection, by the netlink protocol `sock_diag(7)`.

use std::net::{IpAddr, SocketAddr};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// Length of the header of a netlink message in bytes.
const HEADER: usize = 16;
/// `SOCK_DIAG_BY_FAMILY`, the type of the question and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
const TCP: u8 = 6;
/// Position in an answer of the two ports and the two addresses, which take [`ENDS_LENGTH`] bytes.
const ENDS: usize = HEADER + 4;
const ENDS_LENGTH: usize = 36;
/// Position of the inode in an answer.
const INODE: usize = HEADER + 68;
/// More than the length of an answer with its attributes.
const ANSWER_MAX: usize = 1024;

/// Returns the inode of the socket at `peer` of the connection to `local`; `None` if there is no such connection, no
/// process holds the socket, or the kernel does not answer.
pub(super) fn inode(peer: SocketAddr, local: SocketAddr) -> Option<u64> {
    let question = question(peer, local)?;
    let flags = SocketFlags::CLOEXEC;
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        flags,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    send(&kernel, &question, SendFlags::empty()).ok()?;
    let mut answer = [0; ANSWER_MAX];
    // The kernel answers while it takes the question.
    let (length, _) = recv(&kernel, &mut answer, RecvFlags::DONTWAIT).ok()?;
    let answer = answer.get(..length)?;
    let kind = u16::from_ne_bytes(*answer.get(4..)?.first_chunk()?);
    let told = answer.get(ENDS..)?.get(..ENDS_LENGTH)?;
    // A socket of IPv6 may have a connection of IPv4.
    if kind != BY_FAMILY || (told != ends(peer, local) && told != ends(six(peer), six(local))) {
        return None;
    }
    let inode = u32::from_ne_bytes(*answer.get(INODE..)?.first_chunk()?);
    (inode > 0).then_some(u64::from(inode))
}

/// Writes the question for one socket: a header, and `struct inet_diag_req_v2`.
fn question(peer: SocketAddr, local: SocketAddr) -> Option<Vec<u8>> {
    let family = match (peer, local) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => AddressFamily::INET,
        (SocketAddr::V6(_), SocketAddr::V6(_)) => AddressFamily::INET6,
        _ => return None,
    };
    let mut body = vec![u8::try_from(family.as_raw()).ok()?, TCP, 0, 0];
    // In any state.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(ends(peer, local));
    // On any interface, with any cookie.
    body.extend([0; 4]);
    body.extend([u8::MAX; 8]);

    let mut question = Vec::new();
    question.extend(u32::try_from(HEADER + body.len()).ok()?.to_ne_bytes());
    question.extend(BY_FAMILY.to_ne_bytes());
    question.extend(REQUEST.to_ne_bytes());
    // Sequence and port number: this socket is asked one question.
    question.extend([0; 8]);
    question.append(&mut body);
    Some(question)
}

/// Returns an address as one of IPv6.
fn six(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(four) => four.to_ipv6_mapped(),
        IpAddr::V6(six) => six,
    };
    SocketAddr::new(ip.into(), address.port())
}

/// Writes the ports and addresses of a socket, its own first.
fn ends(peer: SocketAddr, local: SocketAddr) -> Vec<u8> {
    let mut ends = Vec::with_capacity(ENDS_LENGTH);
    for end in [peer, local] {
        ends.extend(end.port().to_be_bytes());
    }
    for end in [peer, local] {
        match end.ip() {
            IpAddr::V4(four) => {
                ends.extend(four.octets());
                ends.extend([0; 12]);
            }
            IpAddr::V6(six) => ends.extend(six.octets()),
        }
    }
    ends
}
