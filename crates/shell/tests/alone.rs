//! Lines that may run unchanged, outside the sandbox.

use crate::support::{check, setting};

#[test]
fn only_a_short_list_of_literal_builtins_runs_as_it_is() {
    check(include_str!("cases/alone.txt"), |case| {
        let facts = interlock_shell::read(&case.line, &setting());
        if facts.builtins_alone {
            "alone"
        } else {
            "carried"
        }
        .to_owned()
    });
}
