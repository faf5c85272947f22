//! Lines for shells other than bash.

use interlock_shell::{Dialect, ShellContext};

use crate::support::{check, setting, short};

#[test]
fn other_shells_are_read_where_they_agree() {
    check(include_str!("cases/dialects.txt"), |case| {
        let (shell, line) = case.line.split_once(' ').expect("a shell before the line");
        let dialect = match shell {
            "posix" => Dialect::Posix,
            "zsh" => Dialect::Zsh,
            "unknown" => Dialect::Unknown,
            "foreign" => Dialect::Foreign,
            other => panic!("no dialect `{other}`"),
        };
        let setting = ShellContext {
            dialect,
            ..setting()
        };
        short(&interlock_shell::read(line, &setting))
    });
}
