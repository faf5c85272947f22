//! Retries of calls, and the delays between them.

use std::time::Duration;

/// Random change of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// No change.
    None,
    /// Up to a quarter less, so that callers do not all return at once.
    Quarter,
    /// Up to one second more.
    Second,
}

/// How often a call is attempted, and the delays between attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Total number of attempts; 0 counts as 1.
    pub max_attempts: u32,
    /// Delay before the second attempt.
    pub initial_interval: Duration,
    /// Factor of each further delay; below 1 counts as 1.
    pub backoff_factor: f64,
    /// Longest delay.
    pub max_interval: Duration,
    /// Random change of a delay.
    pub jitter: Jitter,
    /// Upper limit of a provider's `retry-after`.
    pub retry_after_max: Duration,
}

impl Default for RetryPolicy {
    /// Returns four attempts in all, 0.5 s doubling to 30 s, `retry-after` up to 60 s.
    fn default() -> Self {
        Self {
            max_attempts: 4,
            initial_interval: Duration::from_millis(500),
            backoff_factor: 2.0,
            max_interval: Duration::from_secs(30),
            jitter: Jitter::Quarter,
            retry_after_max: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// Creates a policy without retries.
    #[must_use]
    pub fn once() -> Self {
        Self {
            max_attempts: 1,
            ..Self::default()
        }
    }

    /// Returns the delay after attempt number `tried`, from 1; `None` if there is no further attempt.
    ///
    /// `jitter` is a number from 0 up to 1; `retry_after` is the provider's request.
    #[must_use]
    pub fn wait(&self, tried: u32, retry_after: Option<Duration>, jitter: f64) -> Option<Duration> {
        if tried >= self.max_attempts {
            return None;
        }
        let power = i32::try_from(tried.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds =
            self.initial_interval.as_secs_f64() * self.backoff_factor.max(1.0).powi(power);
        let most = self.max_interval.as_secs_f64();
        // A factor that is not a number, or a product that overflows, gives the longest delay.
        let seconds = if seconds < most { seconds } else { most };
        let jitter = jitter.clamp(0.0, 1.0);
        let seconds = match self.jitter {
            Jitter::None => seconds,
            Jitter::Quarter => seconds * (1.0 - jitter / 4.0),
            Jitter::Second => seconds + jitter,
        };
        let own = Duration::try_from_secs_f64(seconds).unwrap_or(self.max_interval);
        let asked = retry_after.map_or(Duration::ZERO, |asked| asked.min(self.retry_after_max));
        Some(own.max(asked))
    }
}
