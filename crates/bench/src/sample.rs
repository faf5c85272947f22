//! Measures times as medians.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Long enough for the clock's precision, short enough to be undisturbed.
const BATCH: Duration = Duration::from_micros(500);
/// Maximum number of batches for a median.
const BATCHES: usize = 201;
/// Time after which no further batch begins.
const LONGEST: Duration = Duration::from_secs(3);

/// Returns the median of the times.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns the time of one call of `work`.
pub(crate) fn time<T>(mut work: impl FnMut() -> T) -> Duration {
    let calls = calls_a_batch(&mut work);
    let begun = Instant::now();
    let mut times = Vec::with_capacity(BATCHES);
    while times.len() < BATCHES && (times.is_empty() || begun.elapsed() < LONGEST) {
        times.push(batch(&mut work, calls) / calls);
    }
    median(times)
}

fn calls_a_batch<T>(work: &mut impl FnMut() -> T) -> u32 {
    let mut calls = 1;
    // Doubled until a batch is long enough; this also warms up.
    while calls < 1 << 20 && batch(work, calls) < BATCH {
        calls *= 2;
    }
    calls
}

fn batch<T>(work: &mut impl FnMut() -> T, calls: u32) -> Duration {
    let begun = Instant::now();
    for _ in 0..calls {
        black_box(work());
    }
    begun.elapsed()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::median;

    #[test]
    fn the_median_ignores_what_is_far_off() {
        let times = [7, 1, 900, 3, 5].map(Duration::from_micros);
        assert_eq!(median(times.to_vec()), Duration::from_micros(5));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }
}
