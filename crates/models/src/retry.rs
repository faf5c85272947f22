//! How often a call is tried, and how long is waited in between.

use std::time::Duration;

/// What chance does to a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// Nothing.
    None,
    /// Up to a quarter less, so that callers do not come back all at once.
    Quarter,
    /// Up to one second more.
    Second,
}

/// How often a call is tried, and how long is waited in between.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Tries in all, the first one too; 0 counts as 1.
    pub max_attempts: u32,
    /// The wait before the second try.
    pub initial_interval: Duration,
    /// What each further wait is multiplied by; below 1 counts as 1.
    pub backoff_factor: f64,
    /// The longest wait.
    pub max_interval: Duration,
    /// What chance does to a wait.
    pub jitter: Jitter,
    /// The longest wait that a provider's `retry-after` is given; asked for more: this long.
    pub retry_after_max: Duration,
}

impl Default for RetryPolicy {
    /// Four tries in all, 0.5 s doubling to 30 s, `retry-after` up to 60 s.
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
    /// Tries once.
    #[must_use]
    pub fn once() -> Self {
        Self {
            max_attempts: 1,
            ..Self::default()
        }
    }

    /// Returns the wait after try number `tried`, from 1; `None`: there is no further try.
    ///
    /// `jitter` is a number from 0 up to 1; `retry_after` is what the provider asked for.
    #[must_use]
    pub fn wait(&self, tried: u32, retry_after: Option<Duration>, jitter: f64) -> Option<Duration> {
        if tried >= self.max_attempts {
            return None;
        }
        let power = i32::try_from(tried.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds =
            self.initial_interval.as_secs_f64() * self.backoff_factor.max(1.0).powi(power);
        let most = self.max_interval.as_secs_f64();
        // A factor that is not a number, or a product beyond all numbers, is the longest wait.
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
