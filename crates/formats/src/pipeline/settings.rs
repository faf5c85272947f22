//! Amounts of money, exactly.

use crate::{
    diagnostic::Report,
    node::{Kind, Node},
};

/// Number of decimal places.
const DIGITS: usize = 12;

/// Converts US dollars to millionths of a millionth of one.
pub(super) fn pico_usd(node: &Node, report: &mut Report) -> Option<u64> {
    let Kind::Number(number) = &node.kind else {
        return None;
    };
    let read = decimal(number.as_str());
    if read.is_none() {
        report
            .error(
                node.span,
                "wrong_value",
                format!("`usd` cannot be {}", node.describe()),
            )
            .help("write a plain decimal number below 10 million, with at most 12 digits behind the point");
    }
    read
}

fn decimal(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > DIGITS {
        return None;
    }
    format!("{whole}{fraction:0<DIGITS$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn dollars_are_exact() {
        for (text, wanted) in [
            ("0", Some(0)),
            ("1.5", Some(1_500_000_000_000)),
            ("0.000000000001", Some(1)),
            ("0.0000000000001", None),
            ("1e3", None),
            ("99999999", None),
        ] {
            assert_eq!(decimal(text), wanted, "{text}");
        }
    }
}
