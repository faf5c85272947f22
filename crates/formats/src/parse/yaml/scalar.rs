//! Plain scalars by the core schema of YAML 1.2.

use std::{borrow::Cow, str::FromStr};

use serde_json::Number;

use crate::node::Kind;

/// Parses a scalar; `plain` is an unquoted one.
pub(in crate::parse) fn read(text: Cow<'_, str>, plain: bool) -> Result<Kind, String> {
    if !plain {
        return Ok(Kind::Text(text.into_owned()));
    }
    Ok(match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        plain => match number(plain)? {
            Some(number) => Kind::Number(number),
            None => Kind::Text(text.into_owned()),
        },
    })
}

/// Parses a number, keeping its digits; returns `None` for text.
fn number(text: &str) -> Result<Option<Number>, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!("`{text}` is a number that no context can store"));
    }
    let radix = match (text.get(..2), text.get(2..)) {
        (Some("0o"), Some(digits)) => Some((8, digits)),
        (Some("0x"), Some(digits)) => Some((16, digits)),
        _ => None,
    };
    if let Some((radix, digits)) = radix.filter(|(radix, digits)| {
        !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(*radix))
    }) {
        let value =
            u64::from_str_radix(digits, radix).map_err(|_| format!("`{text}` is too large"))?;
        return Ok(Some(Number::from(value)));
    }
    let Some(json) = decimal(digits) else {
        return Ok(None);
    };
    Ok(Number::from_str(&format!("{sign}{json}")).ok())
}

/// Converts a decimal number of YAML to JSON; returns `None` if it is not one.
fn decimal(text: &str) -> Option<String> {
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let fraction_digits = fraction.unwrap_or_default();
    if !all_digits(whole)
        || !all_digits(fraction_digits)
        || (whole.is_empty() && fraction_digits.is_empty())
    {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let mut json = whole.to_owned();
    if fraction.is_some() {
        json.push('.');
        json.push_str(if fraction_digits.is_empty() {
            "0"
        } else {
            fraction_digits
        });
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !all_digits(digits) {
            return None;
        }
        json.push('e');
        json.push_str(exponent);
    }
    Some(json)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::read;
    use crate::node::Kind;

    fn check(text: &str, expected: &str) {
        let found = match read(text.into(), true) {
            Ok(Kind::Text(text)) => format!("text {text}"),
            Ok(Kind::Number(number)) => Value::Number(number).to_string(),
            Ok(Kind::Bool(value)) => value.to_string(),
            Ok(Kind::Null) => "null".to_owned(),
            Ok(other) => format!("{other:?}"),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for text in [
            "on",
            "off",
            "yes",
            "no",
            "y",
            "n",
            "On",
            "NO",
            "nUll",
            "tRUE",
            "1_000",
            "0b1",
            "1:30",
            "2024-01-01",
        ] {
            check(text, &format!("text {text}"));
        }
        check("", "null");
        check("~", "null");
        check("NULL", "null");
        check("True", "true");
        check("FALSE", "false");
    }

    #[test]
    fn numbers_keep_their_digits() {
        check("0", "0");
        check("-12", "-12");
        check("+5", "5");
        check("007", "7");
        check("9007199254740993", "9007199254740993");
        check(
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        );
        check("1.10", "1.10");
        check(".5", "0.5");
        check("5.", "5.0");
        check("1e3", "1e+3");
        check("-.5e-3", "-0.5e-3");
        check("0x1F", "31");
        check("0o17", "15");
        check("0x", "text 0x");
        check("-0x1", "text -0x1");
        check("-", "text -");
        check(".", "text .");
        check("1.2.3", "text 1.2.3");
        check("1e", "text 1e");
        check(".inf", "error");
        check("-.INF", "error");
        check(".nan", "error");
    }
}
