//! Durations as people write them: `500ms`, `30s`, `5m`, `1h30m`.

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Parses a duration in milliseconds.
///
/// # Errors
/// Returns a description of the format.
pub fn parse_ms(text: &str) -> Result<u64, String> {
    let bad =
        || format!("`{text}` is not a duration; write it like `500ms`, `30s`, `5m` or `1h30m`");
    let mut rest = text.trim();
    let mut total = 0_u64;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let (number, after) = rest.split_at_checked(digits).ok_or_else(bad)?;
        let letters = after
            .find(|c: char| !c.is_ascii_lowercase())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters).ok_or_else(bad)?;
        let factor = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor)
            .ok_or_else(bad)?;
        let number: u64 = number.parse().map_err(|_| bad())?;
        total = number
            .checked_mul(factor)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(bad)?;
        rest = after;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::parse_ms;

    #[test]
    fn units_add_up() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_ms(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "1 s",
            "1y",
            "99999999999999999999s",
            "9999999999999d",
        ] {
            assert!(parse_ms(text).is_err(), "{text}");
        }
    }
}
