//! Lines for shells other than bash.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a case file that cannot be read fails its test"
)]

mod support;

use interlock_shell::{Dialect, Setting};
use support::{cases, setting, short};

#[test]
fn other_shells_are_read_where_they_agree() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("cases/dialects.txt")) {
        let (shell, line) = case.line.split_once(' ').expect("a shell before the line");
        let dialect = match shell {
            "posix" => Dialect::Posix,
            "zsh" => Dialect::Zsh,
            "unknown" => Dialect::Unknown,
            "foreign" => Dialect::Foreign,
            other => panic!("no dialect `{other}`"),
        };
        let found = short(&interlock_shell::read(
            line,
            &Setting {
                dialect,
                ..setting()
            },
        ));
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
