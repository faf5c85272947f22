//! `[gateway]`: the bounds of the gateway.

use std::num::NonZeroU32;

use serde::Deserialize;

/// The bounds of the gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayConfig {
    /// Maximum bytes of one message, in either direction. Default: 33554432 (32 MiB).
    pub message_bytes_max: Option<NonZeroU32>,
    /// Maximum requests of one session at the same time. Default: 1000.
    pub calls_max: Option<NonZeroU32>,
    /// Maximum open sessions. Default: depends on the machine's resources.
    pub sessions_max: Option<NonZeroU32>,
    /// Whether clients over HTTP may be asked for approvals. Default: `false`.
    pub approvals_over_http: bool,
}

impl GatewayConfig {
    /// Returns how many bytes one message may have: 32 MiB unless set.
    #[must_use]
    pub fn message_bytes_max(&self) -> usize {
        bound(self.message_bytes_max, 32 * 1024 * 1024)
    }

    /// Returns how many requests of a session may be under way: 1,000 unless set.
    #[must_use]
    pub fn calls_max(&self) -> usize {
        bound(self.calls_max, 1_000)
    }

    /// Returns how many sessions may be open; `None`: what the machine bears.
    #[must_use]
    pub fn sessions_max(&self) -> Option<usize> {
        self.sessions_max.map(|set| bound(Some(set), 0))
    }
}

fn bound(set: Option<NonZeroU32>, default: usize) -> usize {
    set.and_then(|bound| usize::try_from(bound.get()).ok())
        .unwrap_or(default)
}
