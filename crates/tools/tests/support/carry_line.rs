//! Runs one line as `interlock exec --planned` does, for tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words != ["exec", "--planned"] {
        return ExitCode::from(2);
    }
    match interlock_sandbox::carrier::carry_out() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(126),
    }
}
