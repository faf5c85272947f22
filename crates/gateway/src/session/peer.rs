//! What requests of ours belong to, and the other sides they go to.

use std::sync::Arc;

use interlock_core::machine::Object;
use interlock_mcp::peer::{self, RequestTag};
use serde_json::Value;

pub(crate) use interlock_mcp::peer::Gone;

use crate::session::origin::Origin;

/// The other side of a connection.
pub(crate) type Peer = peer::Peer<Tag>;

/// What a request of ours belongs to.
#[derive(Debug, Clone)]
pub(crate) enum Tag {
    /// To nothing but ourselves.
    Own,
    /// To a request of a client.
    Origin(Arc<Origin>),
    /// To a request of a server, whose progress token this is.
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
    /// Returns the request of a client that is to be answered, which a subscription is not.
    fn origin(&self) -> Option<&Arc<Origin>> {
        match self {
            Self::Origin(origin) if !origin.listens => Some(origin),
            Self::Origin(_) | Self::Own | Self::Asked(..) => None,
        }
    }
}

/// Returns what the only client's request under way belongs to; `None`: there are none or several.
pub(crate) fn only_origin(peer: &Peer) -> Option<Arc<Origin>> {
    let tags = peer.tags();
    let mut origins = tags.iter().filter_map(Tag::origin);
    let first = origins.next()?;
    origins.next().is_none().then(|| Arc::clone(first))
}

/// Returns what the newest client's request under way belongs to.
pub(crate) fn newest_origin(peer: &Peer) -> Option<Arc<Origin>> {
    peer.tags().iter().rev().find_map(Tag::origin).cloned()
}
