//! Retry policy: the number of attempts, and the delays between them.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cause::Cause;

/// Retry policy of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Number of attempts including the first, from 1.
    pub attempts: u32,
    /// Delay before the second attempt, in milliseconds.
    pub wait_ms: u64,
    /// Factor for each further delay, as a decimal number.
    pub backoff: String,
    /// Longest delay, in milliseconds.
    pub wait_max_ms: u64,
    /// Codes that are retried; `None`: all but 130.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<Vec<i64>>,
    /// Whether only transient failures are retried; see [`crate::cause::Cause::passing`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_passing: bool,
    /// Whether up to one second of jitter is added to each delay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub jitter: bool,
}

impl Retry {
    /// Returns the delay before the next attempt, in milliseconds; `None`: there is none.
    ///
    /// `attempt` is the number of the failed attempt, from 1.
    #[must_use]
    pub fn next_wait(&self, attempt: u32, cause: &Cause) -> Option<u64> {
        let code = i64::from(cause.number());
        let again = match &self.codes {
            Some(codes) => codes.contains(&code),
            None => code != 130,
        };
        let passes = !self.only_passing || cause.passing.is_some();
        if attempt >= self.attempts || !again || !passes || cause.cancelled {
            return None;
        }
        let factor: f64 = self.backoff.parse().unwrap_or(1.0);
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a wait in milliseconds is far below 2^52"
        )]
        let wait = self.wait_ms as f64 * factor.powi(exponent);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded on both sides; NaN becomes the bound"
        )]
        let wait = if wait.is_finite() && wait >= 0.0 {
            wait.round() as u64
        } else {
            self.wait_max_ms
        };
        let asked = cause.passing.and_then(|passing| passing.after_ms);
        let wait = wait.max(asked.unwrap_or_default());
        Some(wait.min(self.wait_max_ms))
    }

    /// Returns a delay of up to one second, which depends only on the place and the time.
    #[must_use]
    pub fn jitter_ms(&self, place: &str, at_ms: u64) -> u64 {
        if !self.jitter {
            return 0;
        }
        let digest = Sha256::digest(format!("{place}\n{at_ms}").as_bytes());
        let lot = digest
            .iter()
            .take(4)
            .fold(0_u64, |lot, byte| (lot << 8) | u64::from(*byte));
        lot % 1_000
    }
}
