//! Durations and retries.

use interlock_core::machine::Retry as Lowered;

use crate::codemie::syntax::Retry;

/// Returns the retry policy: that of the state, then of the workflow, then the defaults.
pub(super) fn retry(state: &Retry, workflow: &Retry) -> Lowered {
    let initial = state.initial_interval.as_ref();
    let longest = state.max_interval.as_ref();
    let factor = state.backoff_factor.as_ref();
    let attempts = state.max_attempts.or(workflow.max_attempts).unwrap_or(10);
    Lowered {
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
        wait_ms: milliseconds(initial.or(workflow.initial_interval.as_ref())).unwrap_or(500),
        backoff: factor
            .or(workflow.backoff_factor.as_ref())
            .map_or_else(|| "2".to_owned(), Clone::clone),
        wait_max_ms: milliseconds(longest.or(workflow.max_interval.as_ref())).unwrap_or(128_000),
        codes: None,
        only_passing: true,
        jitter: state.jitter.or(workflow.jitter).unwrap_or_default(),
    }
}

/// Parses seconds, a decimal number without a sign.
pub(super) fn milliseconds(seconds: Option<&String>) -> Option<u64> {
    let (whole, part) = match seconds?.split_once('.') {
        Some((whole, part)) => (whole, part),
        None => (seconds?.as_str(), ""),
    };
    let digits: String = part.chars().chain("000".chars()).take(3).collect();
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    whole.checked_mul(1_000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Retry, milliseconds, retry};

    #[test]
    fn seconds_are_read_to_the_millisecond() {
        for (text, wanted) in [
            ("2", Some(2_000)),
            ("2.0", Some(2_000)),
            ("0.5", Some(500)),
            (".25", Some(250)),
            ("1.2345", Some(1_234)),
            ("3600000", Some(3_600_000_000)),
            ("1e3", None),
        ] {
            assert_eq!(milliseconds(Some(&text.to_owned())), wanted, "{text}");
        }
    }

    #[test]
    fn each_field_comes_from_the_nearest_place() {
        let state = Retry {
            max_attempts: Some(3),
            ..Retry::default()
        };
        let workflow = Retry {
            max_attempts: Some(7),
            initial_interval: Some("2.5".to_owned()),
            jitter: Some(true),
            ..Retry::default()
        };
        let read = retry(&state, &workflow);
        assert_eq!((read.attempts, read.wait_ms, read.jitter), (3, 2_500, true));
        assert_eq!((read.backoff.as_str(), read.wait_max_ms), ("2", 128_000));
    }

    #[test]
    fn every_field_of_a_state_comes_before_that_of_the_workflow() {
        let all = |number: u64| Retry {
            max_attempts: Some(number),
            initial_interval: Some(number.to_string()),
            max_interval: Some((10 * number).to_string()),
            backoff_factor: Some(number.to_string()),
            jitter: Some(number == 3),
        };
        let read = retry(&all(3), &all(2));
        assert_eq!((read.attempts, read.wait_ms, read.jitter), (3, 3_000, true));
        assert_eq!((read.backoff.as_str(), read.wait_max_ms), ("3", 30_000));
    }
}
