//! Parses the headers by which a server says when to retry.

use std::time::{Duration, SystemTime};

/// Parses a `retry-after` header, in seconds or as a date; returns `None` if it is neither.
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Some(asked) = seconds(value) {
        return Some(asked);
    }
    let at = httpdate::parse_http_date(value.trim()).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// Parses a `retry-after-ms` header, which some model providers send.
#[must_use]
pub fn retry_after_ms(value: &str) -> Option<Duration> {
    seconds(value)?.checked_div(1_000)
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_767);
        let rows = [
            ("5", Some(5_000)),
            (" 0 ", Some(0)),
            ("1.5", Some(1_500)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
            ("NaN", None),
        ];
        for (text, wanted) in rows {
            let wanted = wanted.map(Duration::from_millis);
            assert_eq!(retry_after(text, now), wanted, "{text}");
        }
        assert_eq!(retry_after_ms("250"), Some(Duration::from_millis(250)));
        assert_eq!(retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT"), None);
    }
}
