//! A connection to another side, independent of its transport.
//!
//! A transport (a process's pipes, HTTP) drives one end, a session the other. Either end closes the connection by dropping it. A
//! request that its sender no longer needs is cancelled by `notifications/cancelled` in both protocols: a transport whose
//! protocol cancels differently (by closing a stream) translates.

use tokio::sync::mpsc;

use crate::message::Envelope;

/// Maximum number of envelopes that wait before the sender does.
pub const WAITING_MAX: usize = 64;

/// One end of a connection.
#[derive(Debug)]
pub struct Channel {
    /// Messages to the other side.
    pub outgoing: mpsc::Sender<Envelope>,
    /// Messages from the other side, in its order.
    pub incoming: mpsc::Receiver<Envelope>,
}

impl Channel {
    /// Creates both ends.
    #[must_use]
    pub fn pair() -> (Self, Self) {
        let (there, from_here) = mpsc::channel(WAITING_MAX);
        let (here, from_there) = mpsc::channel(WAITING_MAX);
        let one = Self {
            outgoing: there,
            incoming: from_there,
        };
        let other = Self {
            outgoing: here,
            incoming: from_here,
        };
        (one, other)
    }
}
