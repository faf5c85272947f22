//! Counts tests from the output of a test program.

use std::ops::AddAssign;

/// Number of passed and failed tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl Tally {
    /// Parses the summary line of `cargo test`, nextest or `interlock test`; returns `None` for other lines.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let line = plain(line);
        let line = line.trim();
        let numbers = if let Some(rest) = line.strip_prefix("test result:") {
            rest
        } else if let Some((_, rest)) = line
            .strip_prefix("Summary [")
            .and_then(|rest| rest.split_once("run:"))
        {
            rest
        } else if is_own(line) {
            line
        } else {
            return None;
        };
        Some(Self {
            passed: number_before(numbers, &["passed"]),
            failed: number_before(numbers, &["failed", "timed"]),
        })
    }
}

/// Returns whether the line is `N passed, N failed` and nothing else.
fn is_own(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    matches!(words.as_slice(), [passed, "passed,", failed, "failed"]
        if passed.parse::<u64>().is_ok() && failed.parse::<u64>().is_ok())
}

/// Returns the sum of the numbers directly before one of `words`.
fn number_before(line: &str, words: &[&str]) -> u64 {
    let all: Vec<&str> = line
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    all.iter()
        .zip(all.iter().skip(1))
        .filter(|(_, next)| words.contains(next))
        .filter_map(|(number, _)| number.parse::<u64>().ok())
        .sum()
}

/// Removes the color codes of a terminal.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // Skips to the letter that ends the sequence.
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn check(line: &str, expected: Option<(u64, u64)>) {
        let found = Tally::read(line).map(|tally| (tally.passed, tally.failed));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn closing_lines_are_read() {
        check(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s",
            Some((12, 0)),
        );
        check(
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured",
            Some((10, 2)),
        );
        check(
            "     Summary [   0.031s] 12 tests run: 12 passed (1 slow), 4 skipped",
            Some((12, 0)),
        );
        check(
            "     Summary [  61.031s] 9/12 tests run: 6 passed, 2 failed, 1 timed out, 0 skipped",
            Some((6, 3)),
        );
        check(
            "\u{1b}[32;1m     Summary\u{1b}[0m [   0.031s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m2\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m skipped",
            Some((2, 0)),
        );
        check("20 passed, 1 failed", Some((20, 1)));
    }

    #[test]
    fn other_lines_are_not() {
        check("running 3 tests", None);
        check("test tally::tests::two passed, 1 failed ... ok", None);
        check("of 20 passed, 1 failed", None);
        check("", None);
    }
}
