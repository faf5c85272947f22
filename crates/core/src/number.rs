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

/// Tells whether two values are deeply equal, numbers by value, keys in any order.
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
}
