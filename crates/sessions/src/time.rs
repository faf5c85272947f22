//! Times in recordings.

use serde_json::Value;

/// Milliseconds per day.
const DAY_MS: i64 = 86_400_000;

/// Parses an RFC 3339 time as milliseconds since 1970; returns `None` if it is malformed.
pub(crate) fn of_text(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let mut number = || parts.next()?.parse::<i64>().ok();
    let (year, month, day) = (number()?, number()?, number()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let mut parts = time.split(':');
    let mut number = || parts.next()?.parse::<i64>().ok();
    let (hour, minute, second) = (number()?, number()?, number()?);
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    let digits = rest.strip_prefix('.').unwrap_or_default().bytes();
    let digits = digits.take_while(u8::is_ascii_digit).zip([100, 10, 1]);
    let millis: i64 = digits
        .map(|(digit, unit)| i64::from(digit - b'0') * unit)
        .sum();
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let seconds = (hour * 60 + minute) * 60 + second - offset(zone)?;
    let at = days(year, month, day) * DAY_MS + seconds * 1_000 + millis;
    u64::try_from(at).ok()
}

/// Parses the end of a time: its offset from UTC in seconds.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z" | "") {
        return Some(0);
    }
    let (sign, rest) = match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
        (Some(rest), _) => (1, rest),
        (_, Some(rest)) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Counts the days since 1970, by Hinnant's algorithm.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let of_era = year - era * 400;
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Parses a time that is a text or a number of milliseconds.
pub(crate) fn of_value(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => of_text(text),
        Value::Number(number) => number.as_u64(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::of_text;

    #[test]
    fn times_are_read_with_their_zone() {
        for (text, at_ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T00:00:00.000Z", Some(951_782_400_000)),
            ("2024-02-29T23:59:59Z", Some(1_709_251_199_000)),
            ("2026-11-22T09:30:00.5Z", Some(1_795_339_800_500)),
            ("2026-11-22T10:30:00+01:00", Some(1_795_339_800_000)),
            ("2026-11-22T09:30:00.123456789Z", Some(1_795_339_800_123)),
            ("2026-11-22", None),
            ("2026-13-22T09:30:00Z", None),
            ("2026-11-22T29:30:00Z", None),
            ("ä026-11-22T09:30:00Z", None),
            ("", None),
        ] {
            assert_eq!(of_text(text), at_ms, "{text}");
        }
    }
}
