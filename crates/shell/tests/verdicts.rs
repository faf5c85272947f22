//! Facts as a state that may only read judges them, by a small judge of the tests.

mod support;

use support::{cases, judge_no_write, setting};

#[test]
fn tricks_are_refused_and_harmless_lines_pass() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("cases/verdicts.txt")) {
        let facts = interlock_shell::read(&case.line, &setting());
        let found = judge_no_write(&facts);
        if found != case.expected {
            wrong.push(format!(
                "{} ⇒ {found}   (expected {})",
                case.shown, case.expected
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
