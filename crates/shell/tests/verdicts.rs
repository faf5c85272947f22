//! The verdicts of a state that may only read, by a small judge of the tests.

use crate::support::{check, judge_no_write, setting};

#[test]
fn tricks_are_refused_and_harmless_lines_pass() {
    check(include_str!("cases/verdicts.txt"), |case| {
        judge_no_write(&interlock_shell::read(&case.line, &setting())).to_owned()
    });
}
