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
fn what_changes_the_shell_itself_leaves_nothing_to_probe() {
    for (line, is_probed) in [
        ("pytest -q", true),
        ("set -e && pytest -q", true),
        ("set -o errexit && pytest -q", true),
        // They show the text of each command, or run it separately.
        ("set -x && pytest -q", false),
        ("set -o xtrace && pytest -q", false),
        ("set -o verbose && pytest -q", false),
        ("set -o monitor && pytest -q", false),
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
