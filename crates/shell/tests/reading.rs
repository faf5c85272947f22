//! What the reader says of single lines, by case files.

mod support;

use support::{cases, setting, short};

/// Checks every row of a case file and reports all that differ.
fn check(name: &str, text: &str) {
    let mut wrong = Vec::new();
    for case in cases(text) {
        let facts = interlock_shell::read(&case.line, &setting());
        let found = short(&facts);
        if found != case.expected {
            let why = facts.unreadable.unwrap_or_default();
            wrong.push(format!(
                "{} ⇒ {found}   (expected {}) {why}",
                case.shown, case.expected
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{name}: {} rows differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// One test for each case file.
macro_rules! case_files {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), include_str!(concat!("cases/", stringify!($name), ".txt")));
        })*
    };
}

case_files!(
    text,
    words,
    constructs,
    redirections,
    shells,
    wrappers,
    readers,
    sed_and_awk,
    writers,
    git,
    archives_and_network,
    environment,
    machine
);
