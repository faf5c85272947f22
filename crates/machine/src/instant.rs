//! Times in a form for people.

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Formats milliseconds since 1970 as a date and a time of day in UTC.
#[must_use]
pub fn utc(at_ms: u64) -> String {
    let (year, month, day) = date(at_ms / DAY_MS);
    let seconds = at_ms % DAY_MS / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Converts a day since 1970 to year, month and day, with Hinnant's algorithm.
const fn date(days: u64) -> (u64, u64, u64) {
    // Counted from 1 March of the year 0, so that the leap day comes last.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn days_and_leap_days_are_counted() {
        for (at_ms, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199_999, "2024-02-29 23:59:59 UTC"),
            (1_795_339_800_000, "2026-11-22 09:30:00 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(at_ms), text);
        }
    }

    #[test]
    fn no_time_is_too_far() {
        assert!(utc(u64::MAX).ends_with("UTC"));
    }
}
