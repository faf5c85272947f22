//! Runs one plan in a separate process, for the tests.
//!
//! `confine PLAN RESULT [LEVEL]`: JSON files, and the maximum level of confinement.

use std::path::Path;
use std::process::ExitCode;

use interlock_sandbox::{Ended, Exit, Level, Plan, Reach, run};

fn main() -> ExitCode {
    match confine() {
        Ok(ended) => match ended.exit {
            Exit::Code(code) => ExitCode::from(code),
            Exit::Signal(signal) => ExitCode::from(128 + u8::try_from(signal).unwrap_or(0)),
        },
        Err(error) => {
            eprintln_to_stderr(&error.to_string());
            ExitCode::from(126)
        }
    }
}

fn eprintln_to_stderr(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn confine() -> Result<Ended, Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let (Some(plan), Some(result)) = (words.next(), words.next()) else {
        return Err("usage: confine PLAN RESULT [LEVEL]".into());
    };
    let most = match words.next().as_deref().and_then(|word| word.to_str()) {
        Some(word) => Reach::limited_to(Level::named(word).ok_or("no such level")?),
        None => Reach::ALL,
    };
    let plan: Plan = serde_json::from_slice(&std::fs::read(plan)?)?;
    let ended = run(&plan, most)?;
    std::fs::write(Path::new(&result), serde_json::to_vec(&ended)?)?;
    Ok(ended)
}
