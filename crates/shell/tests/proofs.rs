//! What the exit code of a line proves about its commands.

use crate::support::{check, setting};

#[test]
fn the_exit_code_proves_what_it_must_and_no_more() {
    check(include_str!("cases/proofs.txt"), |case| {
        let facts = interlock_shell::read(&case.line, &setting());
        assert_eq!(facts.unreadable, None, "{}", case.shown);
        let found: Vec<&str> = facts
            .commands
            .iter()
            .map(
                |command| match (command.proves_success, command.proves_exit) {
                    (true, true) => "se",
                    (true, false) => "s",
                    (false, true) => "e",
                    (false, false) => "-",
                },
            )
            .collect();
        found.join(" ")
    });
}

#[test]
fn a_file_that_is_read_into_the_shell_may_change_what_commands_are() {
    for (line, is_probed) in [
        ("pytest -q", true),
        (". .venv/bin/activate && pytest -q", true),
        ("source /p/.venv/bin/activate && pytest -q", true),
        (". ./activate && pytest -q", false),
        ("source env.sh && pytest -q", false),
    ] {
        let facts = interlock_shell::read(line, &setting());
        let check = facts.commands.last();
        let probe = check.and_then(|command| command.probe);
        assert_eq!(probe.is_some(), is_probed, "{line}: {facts:?}");
    }
}
