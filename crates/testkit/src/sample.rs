//! Selects a sample of the cases of a long test, a different one each day.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 24 * 60 * 60;

/// Returns whether a test runs all its cases; commands that may take their time set `INTERLOCK_WHOLE`.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var_os("INTERLOCK_WHOLE").is_some()
}

/// Returns whether case `index` is in today's sample, one of `parts`; always true if all cases run.
#[must_use]
pub fn has(index: usize, parts: usize) -> bool {
    is_whole() || index % parts.max(1) == today() % parts.max(1)
}

fn today() -> usize {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = since.unwrap_or_default().as_secs() / SECONDS_A_DAY;
    usize::try_from(days).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{has, is_whole};

    #[test]
    fn the_samples_of_as_many_days_are_the_whole() {
        if !is_whole() {
            assert_eq!((0..12).filter(|index| has(*index, 4)).count(), 3);
        }
        assert!((0..12).all(|index| has(index, 1)));
    }
}
