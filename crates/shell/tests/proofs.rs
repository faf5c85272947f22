//! What the exit code of a line says of its commands.

mod support;

use support::{cases, setting};

#[test]
fn the_exit_code_proves_what_it_must_and_no_more() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("cases/proofs.txt")) {
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
        let found = found.join(" ");
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
