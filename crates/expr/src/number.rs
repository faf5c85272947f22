//! Numbers compared by value, exactly, however they are written.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A decimal number: `digits` × 10^`scale`, without leading or trailing zeros.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, text) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        let mut digits: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|b| *b == b'0')
            .collect();
        let mut scale = exponent.saturating_sub(i64::try_from(fraction.len()).ok()?);
        while digits.last() == Some(&b'0') {
            digits.pop();
            scale = scale.saturating_add(1);
        }
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits,
                scale: 0,
            });
        }
        Some(Self {
            negative,
            digits,
            scale,
        })
    }

    /// Reads what people write: a sign, digits, one point, an exponent up to 1000, blanks around.
    fn parse_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text
            .strip_prefix('+')
            .filter(|rest| !rest.starts_with('-'))
            .unwrap_or(text);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent = exponent
            .strip_prefix('+')
            .filter(|rest| !rest.starts_with('-'))
            .unwrap_or(exponent);
        let exponent: i64 = exponent.parse().ok()?;
        let holds_a_digit = mantissa.bytes().any(|byte| byte.is_ascii_digit());
        if !holds_a_digit || exponent.abs() > 1000 {
            return None;
        }
        Self::parse(&format!("{mantissa}e{exponent}"))
    }

    /// Returns the power of ten of the first digit.
    fn magnitude(&self) -> i64 {
        self.scale
            .saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }

    fn compare_size(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self
                .magnitude()
                .cmp(&other.magnitude())
                .then_with(|| self.digits.cmp(&other.digits)),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

/// Compares two numbers by value; `None` where one has no finite decimal form.
#[must_use]
pub fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    Some(Decimal::parse(left.as_str())?.compare(&Decimal::parse(right.as_str())?))
}

/// Returns whether two values are deeply equal, numbers by value, keys in any order.
#[must_use]
pub fn deep_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(left, right) == Some(Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| deep_equal(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| deep_equal(l, r)))
        }
        _ => left == right,
    }
}

/// Compares two numbers written as text, exactly.
///
/// # Errors
/// The side that is not a number: `left` or `right`.
pub fn compare_text(left: &str, right: &str) -> Result<Ordering, Side> {
    let left = Decimal::parse_text(left).ok_or(Side::Left)?;
    let right = Decimal::parse_text(right).ok_or(Side::Right)?;
    Ok(left.compare(&right))
}

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first value.
    Left,
    /// The second value.
    Right,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]
    use super::*;

    fn check(left: &str, right: &str, wanted: Ordering) {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();
        assert_eq!(
            compare(&number(left), &number(right)),
            Some(wanted),
            "{left} {right}"
        );
        assert_eq!(
            compare(&number(right), &number(left)),
            Some(wanted.reverse()),
            "{right} {left}"
        );
    }

    #[test]
    fn numbers_compare_by_value() {
        check("1", "1.0", Ordering::Equal);
        check("0", "-0.0", Ordering::Equal);
        check("1e2", "100", Ordering::Equal);
        check("0.001", "1e-3", Ordering::Equal);
        check("9007199254740993", "9007199254740992", Ordering::Greater);
        check("-2", "1", Ordering::Less);
        check("-10", "-9", Ordering::Less);
        check("80", "9", Ordering::Greater);
        check("1e400", "1e399", Ordering::Greater);
        check("0.1", "0.09", Ordering::Greater);
    }

    #[test]
    fn texts_are_compared_as_exact_decimals() {
        use super::{Side, compare_text};
        use std::cmp::Ordering::{Equal, Greater, Less};
        for (left, right, wanted) in [
            ("9007199254740993", "9007199254740992", Greater),
            ("100.00", "100", Equal),
            (" +3\n", "3", Equal),
            (".5", "0.50", Equal),
            ("5.", "5", Equal),
            ("-0.5", ".1", Less),
            ("1.5e10", "15000000000", Equal),
            ("2E-3", "0.002", Equal),
            ("1e1000", "9e999", Greater),
            ("-0", "0", Equal),
        ] {
            assert_eq!(compare_text(left, right), Ok(wanted), "{left} {right}");
        }
        for bad in [
            "", "abc", "NaN", "Infinity", "1e1001", "1.2.3", "--1", "+-1", "1e", "0x10", ".",
            "1 2", "1_000",
        ] {
            assert_eq!(compare_text(bad, "1"), Err(Side::Left), "{bad}");
            assert_eq!(compare_text("1", bad), Err(Side::Right), "{bad}");
        }
    }
}
