//! The canonical text of RFC 8785, in which numbers are doubles, written as in ECMAScript.

use interlock_core::names::Digest;
use serde_json::{Number, Value};

use super::{sha256, write_with};

/// Largest integer that a double represents exactly, like all smaller ones, and that no other integer is rounded to.
const INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// A number that a double cannot represent exactly enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexact {
    /// Location as a JSON Pointer.
    pub at: String,
    /// The number as written.
    pub number: String,
}

/// Returns the SHA-256 of the RFC 8785 text of a call's arguments.
///
/// [`exact`] must have accepted the arguments: otherwise their numbers are rounded first.
#[must_use]
pub fn arguments_digest(arguments: &Value) -> Digest {
    sha256(&canonical_text(arguments))
}

/// Returns the RFC 8785 text of a value.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    let mut text = String::new();
    write_with(value, &mut text, &mut |number, out| {
        out.push_str(&written(number));
    });
    text
}

/// Writes every number of `value` as in RFC 8785.
///
/// # Errors
/// An integer is beyond 2^53 - 1, or a number beyond every double.
pub fn exact(value: Value) -> Result<Value, Inexact> {
    exact_at(value, &mut String::new())
}

// Recursion is bounded: no document deeper than 128 is ever parsed.
fn exact_at(value: Value, at: &mut String) -> Result<Value, Inexact> {
    let length = at.len();
    Ok(match value {
        Value::Number(number) => Value::Number(checked(&number).ok_or_else(|| Inexact {
            at: at.clone(),
            number: number.to_string(),
        })?),
        Value::Array(items) => {
            let mut exact = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                exact.push(exact_at(item, at)?);
                at.truncate(length);
            }
            Value::Array(exact)
        }
        Value::Object(fields) => {
            let mut exact = serde_json::Map::with_capacity(fields.len());
            for (key, field) in fields {
                at.push('/');
                at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let field = exact_at(field, at)?;
                at.truncate(length);
                exact.insert(key, field);
            }
            Value::Object(exact)
        }
        other => other,
    })
}

fn checked(number: &Number) -> Option<Number> {
    let text = number.to_string();
    let is_integer = text
        .strip_prefix('-')
        .unwrap_or(&text)
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    if is_integer {
        let digits = text.trim_start_matches('-');
        let fits = digits.parse::<u64>().is_ok_and(|size| size <= INTEGER_MAX);
        if !fits {
            return None;
        }
    }
    number.as_f64().filter(|double| double.is_finite())?;
    written(number).parse().ok()
}

fn written(number: &Number) -> String {
    match number.as_f64() {
        Some(double) if double.is_finite() => of_double(double),
        // Unreachable for what `exact` has accepted.
        _ => number.to_string(),
    }
}

/// Writes a double like `Number::toString` of ECMAScript.
fn of_double(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let Some((digits, exponent)) = shortest(double.abs()) else {
        return "0".to_owned();
    };
    let sign = if double < 0.0 { "-" } else { "" };
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |many: i32| "0".repeat(usize::try_from(many).unwrap_or(0));
    let body = match exponent {
        0..=20 if count <= exponent + 1 => format!("{digits}{}", zeros(exponent + 1 - count)),
        0..=20 => pointed(&digits, usize::try_from(exponent + 1).unwrap_or(0)),
        -6..=-1 => format!("0.{}{digits}", zeros(-exponent - 1)),
        _ => {
            let direction = if exponent < 0 { '-' } else { '+' };
            let rest = if count > 1 {
                pointed(&digits, 1)
            } else {
                digits
            };
            format!("{rest}e{direction}{}", exponent.abs())
        }
    };
    format!("{sign}{body}")
}

/// Returns the shortest digits that parse to the same double, and the power of ten of the first.
///
/// Of two equally near candidates the even one, as in ECMAScript; `{:e}` takes the upper one.
fn shortest(double: f64) -> Option<(String, i32)> {
    let text = Number::from_f64(double)?.to_string();
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{part}");
    let significant = all.trim_start_matches('0');
    let leading = i32::try_from(all.len() - significant.len()).ok()?;
    let exponent = power.parse::<i32>().ok()? + i32::try_from(whole.len()).ok()? - 1 - leading;
    Some((significant.trim_end_matches('0').to_owned(), exponent))
}

fn pointed(digits: &str, whole: usize) -> String {
    let (whole, part) = digits.split_at_checked(whole).unwrap_or((digits, ""));
    format!("{whole}.{part}")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    fn digest(json: &str) -> String {
        let value = exact(serde_json::from_str(json).unwrap()).unwrap();
        arguments_digest(&value).as_str().to_owned()
    }

    #[test]
    fn known_arguments_have_known_digests() {
        let rows = include_str!("digests.txt");
        for row in rows.lines().filter(|row| !row.starts_with('#')) {
            let (wanted, json) = row.split_once(' ').unwrap();
            assert_eq!(digest(json), wanted, "{json}");
        }
    }

    /// Appendix B of RFC 8785.
    #[test]
    fn doubles_are_written_as_the_rfc_has_them() {
        let rows: [(u64, &str); 22] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, wanted) in rows {
            assert_eq!(of_double(f64::from_bits(bits)), wanted, "{bits:x}");
        }
    }

    #[test]
    fn numbers_that_readers_do_not_agree_on_are_named() {
        let taken = |json: &str| exact(serde_json::from_str(json).unwrap());
        assert!(taken(r#"{"a":[9007199254740991,-9007199254740991,1e21,0.1]}"#).is_ok());
        for number in [
            "9007199254740992",
            "-9007199254740992",
            "1e400",
            "123456789012345678901234567890",
        ] {
            let found = taken(&format!(r#"{{"a":[0,{number}]}}"#)).unwrap_err();
            assert_eq!(found.at, "/a/1");
        }
    }

    #[test]
    fn what_is_kept_is_what_the_digest_is_of() {
        let value = exact(serde_json::from_str(r#"{"b":1.0,"a":0.1000000000000000055}"#).unwrap());
        assert_eq!(value.unwrap().to_string(), r#"{"b":1,"a":0.1}"#);
    }
}
