//! The reader's results for single lines, by case files.

use interlock_core::facts::PathText;

use crate::support::{check, setting, short};

/// Makes one test for each case file.
macro_rules! case_files {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(include_str!(concat!("cases/", stringify!($name), ".txt")), |case| {
                short(&interlock_shell::read(&case.line, &setting()))
            });
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
    forms,
    sed_and_awk,
    writers,
    git,
    archives_and_network,
    environment,
    machine,
    remote
);

#[test]
fn escapes_are_the_characters_that_they_stand_for() {
    for (escape, character) in [
        ("a", '\u{7}'),
        ("b", '\u{8}'),
        ("e", '\u{1b}'),
        ("E", '\u{1b}'),
        ("f", '\u{c}'),
        ("n", '\n'),
        ("r", '\r'),
        ("t", '\t'),
        ("v", '\u{b}'),
        ("\\", '\\'),
        ("'", '\''),
        ("\"", '"'),
        ("?", '?'),
        ("x41", 'A'),
        ("101", 'A'),
        ("u0041", 'A'),
        ("U00000041", 'A'),
    ] {
        let line = format!("touch $'a\\{escape}b'");
        let facts = interlock_shell::read(&line, &setting());
        let written = facts.writes.first().map(|used| used.path.clone());
        let wanted = PathText::Whole(format!("/p/a{character}b"));
        assert_eq!(written, Some(wanted), "{line}");
    }
}
