//! Connections to servers, and the origins of the requests that go to them.

use std::sync::Arc;

use interlock_core::machine::Object;
use interlock_mcp::peer::{self, RequestTag};
use serde_json::Value;

pub(crate) use interlock_mcp::peer::Gone;

use crate::session::origin::Origin;

/// The other side of a connection.
pub(crate) type Peer = peer::Peer<Tag>;

/// The origin of a request to a server.
#[derive(Debug, Clone)]
pub(crate) enum Tag {
    /// The gateway itself.
    Own,
    /// A request of a client.
    Origin(Arc<Origin>),
    /// A request of a server, with its progress token.
    Asked(Arc<Peer>, Option<Value>),
}

impl RequestTag for Tag {
    fn why_cancelled(&self) -> Option<Object> {
        match self {
            Self::Origin(origin) => origin.why_cancelled(),
            Self::Own | Self::Asked(..) => None,
        }
    }
}

impl Tag {
    /// Returns the client's request that is to be answered; a subscription is not one.
    fn origin(&self) -> Option<&Arc<Origin>> {
        match self {
            Self::Origin(origin) if !origin.listens => Some(origin),
            Self::Origin(_) | Self::Own | Self::Asked(..) => None,
        }
    }
}

/// Returns the origin of the only open client request; `None` if there are none or several.
pub(crate) fn only_origin(peer: &Peer) -> Option<Arc<Origin>> {
    let tags = peer.tags();
    let mut origins = tags.iter().filter_map(Tag::origin);
    let first = origins.next()?;
    origins.next().is_none().then(|| Arc::clone(first))
}

/// Returns the origin of the newest open client request.
pub(crate) fn newest_origin(peer: &Peer) -> Option<Arc<Origin>> {
    peer.tags().iter().rev().find_map(Tag::origin).cloned()
}
