//! The reader's results for single lines, by case files.

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
